"""Builds for `mindhost plugin dev`: a component that was made once gets the author's sources put into it.

Nearly all of a build is spent on Python, which is the same each time. So the first build makes a component without the
author's modules, but with everything that they import, and with room for their sources (see glue/mindhost_late.py). The
next ones write the sources there. What decides what the component has makes another one: the imports, the manifest, the
packages, the SDK.
"""

from __future__ import annotations

import ast
import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from . import _stage

# The room for sources, as mindhost_late.py makes it: a mark, then bytes that are not zero, so that they stay together.
MARK = b"mindhost: the sources of a plugin, from here on;" + bytes(range(1, 17))
FILL = b"\x55"
ROOM = 256 << 10
# A module that reads files while it is loaded does so while the component is made.
_FILES = {"__file__", "open", "resources", "pkgutil", "read_text", "read_bytes"}
_IMPORTS = (ast.Import, ast.ImportFrom)
_KEPT = 2


def build(
    kept: Path, into: Path, own: Mapping[str, ast.Module | None], command: list[str]
) -> subprocess.CompletedProcess[str]:
    """What componentize-py would do with the command, and with what was kept of a build before."""
    sources = {name: Path(name).read_text(encoding="utf-8") for name in own}
    text = json.dumps(sources).encode()
    trees = [tree for tree in own.values() if tree]
    if len(trees) < len(own) or len(text) > ROOM - 64 or any(map(_reads_files, trees)):
        return _stage.run([*command, *_stage.python_path(_stage.staged(into, _stage.packages()))], into)
    imports = sorted({name for tree in trees for name in _imported(tree, own)})
    component = kept / f"python-{_key(imports)}.wasm"
    if not component.exists():
        made = _make(component, into, imports, command)
        if made.returncode != 0:
            return made
    output = Path(command[command.index("--output") + 1])
    output.write_bytes(_with(component.read_bytes(), text))
    return subprocess.CompletedProcess(command, 0, "", "")


def _with(component: bytes, text: bytes) -> bytes:
    """The component with the sources in it. What is there more than once is memory that was used before."""
    filled = bytearray(component)
    data = len(text).to_bytes(4, "little") + text
    at = component.find(MARK + FILL * 64)
    while at >= 0:
        start = at + len(MARK)
        filled[start : start + len(data)] = data
        at = component.find(MARK + FILL * 64, at + 1)
    return bytes(filled)


def _make(component: Path, into: Path, imports: Iterable[str], command: list[str]) -> subprocess.CompletedProcess[str]:
    folders = _stage.staged(into, _stage.packages())
    project = Path(folders[0])
    for path in list(project.iterdir()):
        if path.name not in {"mindhost", "manifest.json"}:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    lines = [f"try:\n    import {name}\nexcept ImportError:\n    pass\n" for name in imports]
    late = "from mindhost_late import Plugin as Plugin\n"
    (project / "plugin.py").write_text("".join([*lines, late]), encoding="utf-8")
    made = into / "made.wasm"
    own = [str(made) if before == "--output" else word for before, word in zip(["", *command], command)]
    done = _stage.run([*own, *_stage.python_path(folders)], into)
    if done.returncode == 0:
        component.parent.mkdir(parents=True, exist_ok=True)
        half = component.with_suffix(".half")
        shutil.copyfile(made, half)
        half.rename(component)
        others = sorted(component.parent.glob("python-*.wasm"), key=lambda path: path.stat().st_mtime)
        for old in others[:-_KEPT]:
            old.unlink(missing_ok=True)
    return done


def _at_load(tree: ast.AST) -> Iterator[ast.AST]:
    """What runs while a module is loaded: everything outside of functions."""
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield node
            yield from _at_load(node)


def _reads_files(tree: ast.AST) -> bool:
    """Whether a module does so while it is loaded, as far as that is seen."""
    for node in _at_load(tree):
        names = [alias.name.split(".")[-1] for alias in node.names] if isinstance(node, _IMPORTS) else []
        names += [node.id] if isinstance(node, ast.Name) else []
        names += [node.attr] if isinstance(node, ast.Attribute) else []
        if not _FILES.isdisjoint(names):
            return True
    return False


def _imported(tree: ast.AST, own: Iterable[str]) -> Iterator[str]:
    """The modules that a module imports while it is loaded, without the project's own."""
    for node in _at_load(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            # What is imported may be a module itself.
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names if alias.name != "*")]
        yield from (name for name in names if not _is_own(name, own))


def _is_own(name: str, own: Iterable[str]) -> bool:
    first = name.split(".")[0]
    return any(file == f"{first}.py" or file.startswith(f"{first}/") for file in own)


def _key(imports: Iterable[str]) -> str:
    """Of everything that the component is made of, but the author's modules."""
    digest = hashlib.sha256(repr((sorted(imports), sys.version, ROOM)).encode())
    digest.update(Path("manifest.json").read_bytes())
    for path in sorted(_stage.SDK.rglob("*")):
        if path.suffix in {".py", ".wit"}:
            digest.update(path.read_bytes())
    for folder in _stage.packages():
        for path in sorted(Path(folder).glob("*")):
            digest.update(f"{path.name} {path.stat().st_mtime_ns}".encode())
    return digest.hexdigest()[:16]
