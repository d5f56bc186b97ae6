"""Makes a component of plugin.py and manifest.json of the working directory: python mindhost/build.py output.wasm"""

import json
import os
import re
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
    try:
        world = json.loads(Path("manifest.json").read_text(encoding="utf-8"))["world"]
    except (OSError, ValueError, KeyError) as error:
        print(f"manifest.json: {error}", file=sys.stderr)
        return 1
    if world not in _APPS:
        print(f"manifest.json: this SDK does not make the world {world}", file=sys.stderr)
        return 1
    wit = sdk / "wit" if (sdk / "wit").is_dir() else sdk.parent.parent / "wit"
    tool = [str(Path(sys.executable).with_name("componentize-py")), "--quiet"]
    where = ["--python-path", ".", "--python-path", str(sdk.parent), "--python-path", str(sdk / "glue")]
    command = [*tool, "--wit-path", str(wit), "--world", world, "componentize", *where, "--output", output, _APPS[world]]
    environment = {**os.environ, "RUST_BACKTRACE": "0"}
    done = subprocess.run(command, check=False, stderr=subprocess.PIPE, text=True, env=environment)
    if done.returncode == 0:
        print(f"{output}: {world}, {Path(output).stat().st_size} bytes")
    else:
        print(told(done.stderr), file=sys.stderr)
    return done.returncode


# The author's folder is the first of the paths, which the tool numbers.
_FRAME = re.compile(r'^  File "/0/([^"]+)", line (\d+)(.*)$')
_SYNTAX = re.compile(r"^(?:\w*\.)?(?:SyntaxError|IndentationError|TabError): (.*)$")


def told(printed: str) -> str:
    """What is wrong with the author's source, out of what the tool printed: its own trace stays out."""
    lines = printed.split("\n\nCaused by:")[0].rstrip().split("\n")
    own = [at for at, line in enumerate(lines) if _FRAME.match(line)]
    if not own:
        # Of the SDK's own refusals the last line says all.
        return lines[-1] if "Traceback" in printed else printed.strip()
    syntax = _SYNTAX.match(lines[-1])
    if syntax and (match := _FRAME.match(lines[own[-1]])):
        return _in_three_lines(match[1], match[2], lines[own[-1] + 1 : -1], syntax[1])
    return "\n".join(_FRAME.sub(r'  File "\1", line \2\3', line) for line in lines[own[0] :])


def _in_three_lines(file: str, number: str, shown: list[str], what: str) -> str:
    """`plugin.py:15:13`, the line, and what is wrong."""
    # The tool indents source by four, and by as much as the source is itself.
    source = shown[0][4:] if shown else ""
    caret = shown[1][4:].find("^") if len(shown) > 1 else -1
    full = _line(file, int(number))
    indent = len(full) - len(full.lstrip()) if full.strip() == source.strip() else 0
    column = f":{indent + caret + 1}" if caret >= 0 else ""
    return f"{file}:{number}{column}\n  {source.rstrip()}\n  {' ' * max(caret, 0)}^ {what}"


def _line(file: str, number: int) -> str:
    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return ""
    return lines[number - 1] if 0 < number <= len(lines) else ""


if __name__ == "__main__":
    sys.exit(main())
