"""Makes a component of plugin.py and manifest.json of the working directory: python mindhost/build.py output.wasm"""

import json
import subprocess
import sys
from pathlib import Path

_APPS = {
    "sql-connector": "connector_world",
    "scanner-connector": "scanner_world",
    "model-provider": "model_world",
}


def main() -> int:
    """Runs componentize-py, which must be installed beside the Python that runs this."""
    if len(sys.argv) != 2:
        print("usage: python mindhost/build.py OUTPUT.wasm", file=sys.stderr)
        return 2
    output = sys.argv[1]
    sdk = Path(__file__).resolve().parent
    world = json.loads(Path("manifest.json").read_text())["world"]
    if world not in _APPS:
        print(f"manifest.json: this SDK does not make the world {world}", file=sys.stderr)
        return 1
    wit = sdk / "wit" if (sdk / "wit").is_dir() else sdk.parent.parent / "wit"
    tool = [str(Path(sys.executable).with_name("componentize-py")), "--quiet"]
    where = ["--python-path", ".", "--python-path", str(sdk.parent), "--python-path", str(sdk / "glue")]
    command = [*tool, "--wit-path", str(wit), "--world", world, "componentize", *where, "--output", output, _APPS[world]]
    status = subprocess.run(command, check=False).returncode
    if status == 0:
        print(f"{output}: {world}, {Path(output).stat().st_size} bytes")
    return status


if __name__ == "__main__":
    sys.exit(main())
