#!/bin/sh
# Builds the component and packs the manifest into it: {{name}}.wasm
set -eu
cd "$(dirname "$0")"
cargo build --release --target wasm32-wasip2
"${MINDHOST:-mindhost}" plugin pack "${CARGO_TARGET_DIR:-target}/wasm32-wasip2/release/{{crate}}.wasm" \
    --manifest manifest.json --output {{name}}.wasm
