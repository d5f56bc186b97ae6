"""`print`, `logging` and the traces of exceptions, in the plugin log."""

import linecache
import logging
import sys
import traceback
from pathlib import Path
from typing import Any

from mindhost import _host
from mindhost._output import FORMAT, Lines, add_handler

_GLUE = str(Path(__file__).parent)
_SDK = str(Path(_host.__file__).parent)
# More frames than this tell nothing new.
_FRAMES = 16


class _Formatter(logging.Formatter):
    """Traces have the author's files and lines."""

    def __init__(self, root: Path):
        super().__init__(FORMAT)
        self._root = root

    def formatException(self, ei: Any) -> str:
        return "".join(_told(ei[1], self._root)).rstrip("\n")


def install(root: Path) -> None:
    """From here on everything that is printed or logged goes to the plugin log. `root` is the author's folder."""
    sys.stdout = Lines("info", sys.stdout)
    sys.stderr = Lines("warn", sys.stderr)
    add_handler(_Formatter(root))
    _keep_sources(root)


def _keep_sources(root: Path) -> None:
    """Traces show lines of source, and a component has no files: they are read while it is made."""
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if path and path.endswith(".py") and Path(path).is_relative_to(root) and not path.startswith((_SDK, _GLUE)):
            text = Path(path).read_text(encoding="utf-8", errors="replace")
            # Without a time of change it is never looked for again.
            linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)


def log_trace(error: BaseException, root: Path) -> None:
    """Logs an exception with its causes, with the author's files and lines."""
    _host.log_lines("error", "".join(_told(error, root)).rstrip("\n"))


def _told(error: BaseException, root: Path) -> list[str]:
    told = traceback.TracebackException.from_exception(error)
    seen: Any = told
    while seen is not None:
        _shorten(seen.stack, str(root))
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    return list(told.format())


def _shorten(stack: traceback.StackSummary, root: str) -> None:
    """Leaves out what comes before the author's part, and names files from the project on."""
    is_own = [frame.filename.startswith(root) and not frame.filename.startswith((_SDK, _GLUE)) for frame in stack]
    first = is_own.index(True) if True in is_own else 0
    kept = stack[first:][-_FRAMES:]
    for frame in kept:
        # Its line is looked up under the name that it has now.
        frame.line  # noqa: B018
        frame.filename = frame.filename.removeprefix(root).lstrip("/")
    stack[:] = kept
