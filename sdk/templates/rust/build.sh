#!/bin/sh
# Builds the component and packs the manifest into it: {{name}}.wasm
set -eu
cd "$(dirname "$0")"
if [ ! -e src/lib.rs ] && ! sed -n '/^\[lib\]/,/^\[/p' Cargo.toml | grep -q '^ *path *='; then
    echo "src/lib.rs is missing: the plugin is built from it; if it has another name now, write that in Cargo.toml" \
        "as \`path\` below [lib]" >&2
    exit 1
fi
# Dependencies in C, such as ciphers, need clang. Debian names it after its version alone.
if [ -z "${CC_wasm32_wasip2:-}" ] && ! command -v clang >/dev/null; then
    for clang in /usr/bin/clang-[0-9]*; do
        [ ! -x "$clang" ] || export CC_wasm32_wasip2="$clang" AR_wasm32_wasip2="/usr/bin/llvm-ar-${clang##*-}"
    done
fi
# Messages of panics have the paths of dependencies: the same for everybody.
cargo build --release --target wasm32-wasip2 \
    --config "build.rustflags=['--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo']"
"${MINDHOST:-mindhost}" plugin pack "${CARGO_TARGET_DIR:-target}/wasm32-wasip2/release/{{crate}}.wasm" \
    --manifest manifest.json --output {{name}}.wasm
