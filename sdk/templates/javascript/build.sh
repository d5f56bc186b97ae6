#!/bin/sh
# Builds the component and packs the manifest into it: {{name}}.wasm
set -eu
cd "$(dirname "$0")"
# Both, because an installation may have ended early.
if [ ! -d node_modules/esbuild ] || [ ! -d node_modules/componentize-qjs ]; then
    npm install --no-audit --no-fund --loglevel=error
fi
# `mindhost plugin dev` keeps what it builds in a folder of its own.
component="${DEV_OF_MINDHOST:-.}/component.wasm"
node mindhost/build.mjs plugin.js manifest.json "$component"
"${MINDHOST:-mindhost}" plugin pack "$component" --manifest manifest.json --output {{name}}.wasm
