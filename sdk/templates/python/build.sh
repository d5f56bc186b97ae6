#!/bin/sh
# Builds the component and packs the manifest into it: {{name}}.wasm
set -eu
cd "$(dirname "$0")"
# The environment that PYTHON belongs to is its owner's; `.venv` is made and kept up to date here.
python="${PYTHON:-.venv/bin/python}"
install() {
    "$python" -m pip install --quiet --requirement requirements.txt
    touch .venv/installed
    rm -f .venv/unfinished
}
if [ -n "${PYTHON:-}" ]; then
    :
elif [ ! -x "$python" ] || [ -e .venv/unfinished ]; then
    mkdir -p .venv
    # Stays if the network or the author ends this early, so that the next build begins again.
    touch .venv/unfinished
    python3 -m venv .venv
    install
elif [ -e .venv/installed ] && [ requirements.txt -nt .venv/installed ]; then
    install
fi
# `mindhost plugin dev` keeps what it builds in a folder of its own.
component="${DEV_OF_MINDHOST:-.}/component.wasm"
"$python" mindhost/build.py "$component"
"${MINDHOST:-mindhost}" plugin pack "$component" --manifest manifest.json --output {{name}}.wasm
