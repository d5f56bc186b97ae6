"""Makes a component of plugin.py and manifest.json of the working directory: python mindhost/build.py output.wasm

Packages come from the environment (venv) of the Python that runs this, and from nowhere else on the machine.
"""

import ast
import difflib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

if not __package__:
    # As a script: this folder has modules that are named like those of the standard library.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from mindhost import _dev, _stage
from mindhost._stage import packages as packages

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
    try:
        world = _world()
        own = check_sources()
        _check_tool()
    except Wrong as error:
        print(error, file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        into = Path(folder)
        command = ["--wit-path", _stage.wit(), "--world", world, "componentize", "--output", output, _APPS[world]]
        if kept := os.environ.get("DEV_OF_MINDHOST"):
            done = _dev.build(Path(kept), into, own, command)
        else:
            done = _full(into, command)
    if done.returncode == 0:
        print(f"{output}: {world}, {Path(output).stat().st_size} bytes")
    else:
        print(told(done.stderr), file=sys.stderr)
    return done.returncode


def _full(into: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
    """A build whose bytes are the same each time."""
    library, why = _stage.constant(into)
    if library is None:
        print(f"the build is not reproducible: {why}", file=sys.stderr)
    return _stage.run([*command, *_stage.python_path(_stage.staged(into, _stage.packages()))], into, library)


class Wrong(Exception):
    """What is wrong with the sources, in words for the author."""


def _check_tool() -> None:
    if shutil.which(_stage.tool()) is None:
        raise Wrong(
            f"componentize-py is not installed beside {sys.executable}; install it there with `{sys.executable} -m pip "
            "install --requirement requirements.txt`, or build without PYTHON"
        )


def _world() -> str:
    """The world of the manifest."""
    path = Path("manifest.json")
    try:
        text = path.read_text(encoding="utf-8")
        manifest = json.loads(text)
    except OSError as error:
        raise Wrong(f"manifest.json: {error.strerror}") from None
    except json.JSONDecodeError as error:
        source = text.split("\n")[error.lineno - 1]
        raise Wrong(_shown("manifest.json", error.lineno, error.colno, source, error.msg)) from None
    except ValueError as error:
        raise Wrong(f"manifest.json: {error}") from None
    if not isinstance(manifest, dict) or "world" not in manifest:
        raise Wrong(f"manifest.json: `world` is missing; it is one of {', '.join(_APPS)}")
    world = manifest["world"]
    if world not in _APPS:
        raise Wrong(f"manifest.json: `world` must be one of {', '.join(_APPS)}, not {world!r}")
    return str(world)


# Python in a component; an older one on the machine does not know all of its syntax.
_COMPONENT_PYTHON = (3, 14)
_NEW_SYNTAX = re.compile(
    r"""[fFtT][rR]?["']|[rR][fFtT]["']|^\s*type\s+\w|^\s*(?:async\s+)?(?:def|class)\s+\w+\s*\[|^\s*except\b.*,"""
)


def check_sources() -> "dict[str, ast.Module | None]":
    """What can be told of plugin.py, and of the project's modules that it imports, without a build.

    Gives these modules. One has no tree if it has syntax that this Python does not know.
    """
    if not Path("plugin.py").is_file():
        raise Wrong("plugin.py is missing: the plugin is built from it, and it has no other name")
    waiting, seen = ["plugin.py"], dict[str, "ast.Module | None"]()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        tree = seen[name] = _parsed(name)
        # Syntax that this Python does not know: the build tells.
        if tree is None:
            continue
        if name == "plugin.py" and not _has_plugin(tree):
            raise Wrong("plugin.py has no class `Plugin`")
        _check_imports(name, tree)
        waiting += _own_modules(tree)
    return seen


def _parsed(name: str) -> "ast.Module | None":
    source = Path(name).read_bytes()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source, name)
            # Some errors are found only after parsing, such as `return` outside of a function.
            compile(source, name, "exec", dont_inherit=True)
        return tree
    except SyntaxError as error:
        line = _line(name, error.lineno or 1)
        if sys.version_info < _COMPONENT_PYTHON and _NEW_SYNTAX.search(line):
            return None
        raise Wrong(_shown(name, error.lineno or 1, error.offset or 1, line, error.msg)) from None
    except ValueError as error:
        raise Wrong(f"{name}: {error}") from None


def _has_plugin(tree: ast.Module) -> bool:
    """Whether a name `Plugin` is made anywhere at the top of the module; a star may bring it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.alias) and (node.asname or node.name) in {"Plugin", "*"}:
            return True
        if isinstance(node, ast.ClassDef) and node.name == "Plugin":
            return True
        if isinstance(node, ast.Name) and node.id == "Plugin" and isinstance(node.ctx, ast.Store):
            return True
    return False


# In the library of the component's Python and of none before it, and what the tool adds.
_NEW_MODULES = {"annotationlib", "compression"}
_OF_THE_TOOL = ("wit_world", "componentize_py")


def _check_imports(file: str, tree: ast.Module) -> None:
    """Refuses imports at the top of a module that find nothing: the build would say so only at its end."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            wrong = next((_not_there(alias.name) for alias in node.names if _is_missing(alias.name)), "")
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            wrong = _missing_from(node)
        else:
            continue
        if wrong:
            raise Wrong(_shown(file, node.lineno, node.col_offset + 1, _line(file, node.lineno), wrong))


def _missing_from(node: ast.ImportFrom) -> str:
    module = node.module or ""
    if _is_missing(module):
        return _not_there(module)
    if module != "mindhost":
        return ""
    import mindhost

    known = [name for name in dir(mindhost) if not name.startswith("_")]
    for name in (alias.name for alias in node.names):
        if name != "*" and name not in known and importlib.util.find_spec(f"mindhost.{name}") is None:
            close = difflib.get_close_matches(name, known, n=1)
            return f"`mindhost` has no `{name}`" + (f"; did you mean `{close[0]}`?" if close else "")
    return ""


def _not_there(module: str) -> str:
    return f"there is no module `{module}` in the project and its environment; see requirements.txt for packages"


def _is_missing(module: str) -> bool:
    """Whether neither the project nor the environment nor the library of Python has it, as far as that is known."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names or top in _NEW_MODULES or top.startswith(_OF_THE_TOOL):
        return False
    if Path(top).is_dir() or any(Path().glob(f"{top}.*")) or (_stage.SDK / f"glue/{top}.py").is_file():
        return False
    try:
        return importlib.util.find_spec(top) is None
    except (ImportError, ValueError):
        return False


def _own_modules(tree: ast.Module) -> Iterator[str]:
    """The files of this folder that a module imports."""
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []
        for name in names:
            path = name.replace(".", "/")
            yield from (file for file in (f"{path}.py", f"{path}/__init__.py") if _is_own(file))


def _is_own(file: str) -> bool:
    return Path(file).is_file() and not file.startswith("mindhost/")


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


def _shown(file: str, number: int, column: int, source: str, what: str) -> str:
    """The same three lines, of a place that is known; the column counts from 1."""
    shown = source.strip()
    indent = len(source) - len(source.lstrip())
    caret = min(max(column - 1 - indent, 0), len(shown))
    return f"{file}:{number}:{column}\n  {shown}\n  {' ' * caret}^ {what}"


def _line(file: str, number: int) -> str:
    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return ""
    return lines[number - 1] if 0 < number <= len(lines) else ""


if __name__ == "__main__":
    sys.exit(main())
