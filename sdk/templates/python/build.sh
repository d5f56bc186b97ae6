#!/bin/sh
# Builds the component and packs the manifest into it: {{name}}.wasm
set -eu
cd "$(dirname "$0")"
python="${PYTHON:-.venv/bin/python}"
if [ ! -x "$python" ]; then
    python3 -m venv .venv
    "$python" -m pip install --quiet --requirement requirements.txt
fi
"$python" mindhost/build.py component.wasm
"${MINDHOST:-mindhost}" plugin pack component.wasm --manifest manifest.json --output {{name}}.wasm
