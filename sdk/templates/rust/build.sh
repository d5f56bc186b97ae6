#!/bin/sh
# Builds the component and packs the manifest into it: {{name}}.wasm
set -eu
cd "$(dirname "$0")"
# Messages of panics have the paths of dependencies: the same for everybody.
cargo build --release --target wasm32-wasip2 \
    --config "build.rustflags=['--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo']"
"${MINDHOST:-mindhost}" plugin pack "${CARGO_TARGET_DIR:-target}/wasm32-wasip2/release/{{crate}}.wasm" \
    --manifest manifest.json --output {{name}}.wasm
