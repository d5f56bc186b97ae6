#!/bin/sh
# Builds the component and packs the manifest into it: {{name}}.wasm
set -eu
cd "$(dirname "$0")"
python="${PYTHON:-.venv/bin/python}"
install() {
    "$python" -m pip install --quiet --requirement requirements.txt
    touch .venv/installed
}
if [ ! -x "$python" ]; then
    python3 -m venv .venv
    install
elif [ -z "${PYTHON:-}" ] && [ -e .venv/installed ] && [ requirements.txt -nt .venv/installed ]; then
    install
fi
# `mindhost plugin dev` keeps what it builds in a folder of its own.
component="${DEV_OF_MINDHOST:-.}/component.wasm"
"$python" mindhost/build.py "$component"
"${MINDHOST:-mindhost}" plugin pack "$component" --manifest manifest.json --output {{name}}.wasm
