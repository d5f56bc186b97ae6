#!/bin/sh
# Runs the conformance kit against the plugin, with the server of server.py to talk to.
set -eu
cd "$(dirname "$0")"
exec python3 server.py "${MINDHOST:-mindhost}" plugin test {{name}}.wasm --config "$(cat test.json)" "$@"
