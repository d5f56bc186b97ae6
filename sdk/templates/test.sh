#!/bin/sh
# Runs the conformance kit against the plugin.
set -eu
cd "$(dirname "$0")"
exec "${MINDHOST:-mindhost}" plugin test {{name}}.wasm --config test.json "$@"
