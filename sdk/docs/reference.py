"""Writes the reference pages of the SDKs for JavaScript and Python from their sources.

    python3 sdk/docs/reference.py           writes reference-javascript.md and reference-python.md
    python3 sdk/docs/reference.py --check   fails when they are not what it would write

That of Rust is `cargo doc -p mindhost-sdk`.
"""

import ast
import re
import sys
import textwrap
from pathlib import Path

_DOCS = Path(__file__).resolve().parent
_SDK = _DOCS.parent
_NOTE = "<!-- Written by sdk/docs/reference.py; change {source} instead. -->"
_WIDTH = 120


def main() -> int:
    pages = {"reference-javascript.md": _javascript(), "reference-python.md": _python()}
    stale = [name for name, text in pages.items() if _read(_DOCS / name) != text]
    if "--check" in sys.argv[1:]:
        for name in stale:
            print(f"sdk/docs/{name} is not current: run `python3 sdk/docs/reference.py`", file=sys.stderr)
        return 1 if stale else 0
    for name in stale:
        (_DOCS / name).write_text(pages[name], encoding="utf-8")
    return 0


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _prose(text: str) -> str:
    """Paragraphs, filled to the width of a page; what is indented stays as it is."""
    blocks = re.split(r"\n[ ]*\n", textwrap.dedent(text).strip())
    filled = [
        f"```python\n{textwrap.dedent(block)}\n```"
        if block.startswith("    ")
        else textwrap.fill(" ".join(block.split()), _WIDTH, break_long_words=False, break_on_hyphens=False)
        for block in blocks
    ]
    return "\n\n".join(filled)


# JavaScript: the declarations, which are one block an export, with a comment before each.


def _javascript() -> str:
    parts = [
        "# Reference: JavaScript and TypeScript",
        _NOTE.format(source="sdk/javascript/*.d.ts"),
        _prose("What `mindhost/index.js` exports, as `index.d.ts` declares it, and `mindhost/testing.js` for unit tests. "
               "[Plugins in JavaScript](javascript.md) is the introduction."),
    ]
    for title, file in [("mindhost/index.js", "index.d.ts"), ("mindhost/testing.js", "testing.d.ts")]:
        parts += [f"## `{title}`", *_declarations((_SDK / "javascript" / file).read_text(encoding="utf-8"))]
    return "\n\n".join(parts) + "\n"


def _declarations(source: str) -> list[str]:
    parts = []
    pattern = re.compile(r"(?:^/\*\*((?:(?!\*/).)*)\*/\n)?^export (?:(?!^export |^/\*\*).)*", re.MULTILINE | re.DOTALL)
    for match in pattern.finditer(source):
        block = match[0].strip()
        comment = " ".join(line.strip().removeprefix("*").strip() for line in (match[1] or "").split("\n")).strip()
        code = re.sub(r"^/\*\*.*?\*/\n", "", block, flags=re.DOTALL)
        name = re.match(r"export (?:class|interface|type|const|function) (\w+)", code)
        assert name, code
        parts += [f"### `{name[1]}`", *([_prose(comment)] if comment else []), f"```ts\n{code}\n```"]
    return parts


# Python: what `__all__` names, with the docstrings.

_MODULES = ["catalog", "kinds", "messages", "errors", "rows"]
_NAMESPACES = ["control", "http", "log", "values", "testing"]


def _python() -> str:
    folder = _SDK / "python/mindhost"
    trees = {name: ast.parse((folder / f"{name}.py").read_text(encoding="utf-8")) for name in _MODULES + _NAMESPACES}
    init = ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))
    public = {text for node in init.body if isinstance(node, ast.Assign) for text in ast.literal_eval(node.value)}
    parts = [
        "# Reference: Python",
        _NOTE.format(source="the docstrings in sdk/python/mindhost"),
        _prose("What `mindhost` has. [Plugins in Python](python.md) is the introduction."),
        "## `mindhost`",
    ]
    shown: set[str] = set()
    for name in _MODULES:
        for node, doc in _documented(trees[name].body):
            if _name(node) in public | {"Operator", "Role", "Usage"} or (name == "messages" and _name(node)[0] != "_"):
                parts += _entry(node, doc, trees[name])
                shown.add(_name(node))
    missing = public - shown - set(_NAMESPACES)
    assert not missing, f"no documentation of {missing}"
    for name in _NAMESPACES:
        parts += [f"## `mindhost.{name}`", _prose(ast.get_docstring(trees[name]) or "")]
        for node, doc in _documented(trees[name].body):
            if not _name(node).startswith("_"):
                parts += _entry(node, doc, trees[name])
    return "\n\n".join(parts) + "\n"


def _documented(body: list[ast.stmt]) -> list[tuple[ast.stmt, str]]:
    """Classes, functions and names, each with its docstring: that of a name comes after it."""
    found = []
    for node, after in zip(body, [*body[1:], None]):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.append((node, ast.get_docstring(node) or ""))
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            if is_text or isinstance(node, ast.AnnAssign):
                found.append((node, str(after.value.value) if is_text else ""))
    return found


def _name(node: ast.stmt) -> str:
    if isinstance(node, ast.Assign):
        return ast.unparse(node.targets[0])
    return ast.unparse(node.target) if isinstance(node, ast.AnnAssign) else node.name


def _entry(node: ast.stmt, doc: str, tree: ast.Module) -> list[str]:
    about = [_prose(doc)] if doc else []
    if isinstance(node, ast.ClassDef):
        return [f"### `{_name(node)}`", *about, _members(node, tree)]
    code = _signature(node) if isinstance(node, ast.FunctionDef) else ast.unparse(node)
    return [f"### `{_name(node)}`", *about, f"```python\n{code}\n```"]


def _members(node: ast.ClassDef, tree: ast.Module) -> str:
    """A class as a block: its fields and methods, those of a private base too."""
    classes = {one.name: one for one in tree.body if isinstance(one, ast.ClassDef)}
    bases = [ast.unparse(base) for base in node.bases]
    inherited = [classes[base] for base in bases if base.startswith("_")]
    decorators = [f"@{ast.unparse(one)}" for one in node.decorator_list]
    shown = [base for base in bases if not base.startswith("_")]
    derived = f"({', '.join(shown)})" if shown else ""
    lines = [*decorators, f"class {node.name}{derived}:"]
    for member, doc in [pair for one in [*inherited, node] for pair in _documented(one.body)]:
        if _name(member).startswith("_") and _name(member) != "__init__":
            continue
        code = _signature(member) if isinstance(member, ast.FunctionDef) else ast.unparse(member)
        note = textwrap.wrap(" ".join(doc.split()), _WIDTH - 6, break_on_hyphens=False)
        gap = [""] if doc and len(lines) > len(decorators) + 1 else []
        lines += [*gap, *(f"    # {line}" for line in note), textwrap.indent(code, "    ")]
    return "```python\n" + "\n".join(lines if len(lines) > len(decorators) + 1 else [*lines, "    ..."]) + "\n```"


def _signature(node: ast.FunctionDef) -> str:
    """`def get(url: str, *, retries: int=0) -> Response`, one parameter a line where it is long."""
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    decorators = "".join(f"@{ast.unparse(one)}\n" for one in node.decorator_list)
    whole = f"def {node.name}({ast.unparse(node.args)}){returns}"
    if len(whole) <= 100:
        return decorators + whole
    parameters = re.sub(r", (?=[\w*]+(?::|,|$))", ",\n    ", ast.unparse(node.args))
    return f"{decorators}def {node.name}(\n    {parameters},\n){returns}"


if __name__ == "__main__":
    sys.exit(main())
