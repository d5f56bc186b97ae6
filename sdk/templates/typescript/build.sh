#!/bin/sh
# Builds the component and packs the manifest into it: {{name}}.wasm
set -eu
cd "$(dirname "$0")"
[ -d node_modules/esbuild ] || npm install --no-audit --no-fund --loglevel=error
# `mindhost plugin dev` keeps what it builds in a folder of its own.
component="${DEV_OF_MINDHOST:-.}/component.wasm"
node mindhost/build.mjs plugin.ts manifest.json "$component"
"${MINDHOST:-mindhost}" plugin pack "$component" --manifest manifest.json --output {{name}}.wasm
