#!/bin/sh
# Builds the component and packs the manifest into it: {{name}}.wasm
set -eu
cd "$(dirname "$0")"
[ -d node_modules/esbuild ] || npm install --no-audit --no-fund --loglevel=error
node mindhost/build.mjs plugin.js manifest.json component.wasm
"${MINDHOST:-mindhost}" plugin pack component.wasm --manifest manifest.json --output {{name}}.wasm
