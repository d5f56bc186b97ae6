"""The author's modules in a development build: their sources are put into the finished component (see _dev.py)."""

import importlib.abc
import importlib.machinery
import importlib.util
import json
import linecache
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from mindhost import _dev

# Where the sources would be, for traces.
_ROOT = Path("/0")
_room = bytearray(_dev.FILL) * _dev.ROOM
_room[: len(_dev.MARK)] = _dev.MARK


class _Sources(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports from texts."""

    def __init__(self, texts: dict[str, str]):
        self._texts = texts

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        base = name.replace(".", "/")
        for file in (f"{base}/__init__.py", f"{base}.py"):
            if file in self._texts:
                is_package = file.endswith("/__init__.py")
                location = str(_ROOT / file)
                spec = importlib.util.spec_from_loader(name, self, origin=location, is_package=is_package)
                if spec:
                    spec.has_location = True
                return spec
        return None

    def exec_module(self, module: ModuleType) -> None:
        path = str(module.__file__)
        text = self._texts[str(Path(path).relative_to(_ROOT))]
        # Traces show lines of source. Without a time of change it is never looked for again.
        linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
        exec(compile(text, path, "exec"), module.__dict__)  # noqa: S102


class _Late:
    """The class `Plugin`, loaded when it is used first."""

    def __init__(self) -> None:
        self._loaded: Any = None

    def _class(self) -> Any:
        if self._loaded is None:
            start = len(_dev.MARK)
            length = int.from_bytes(_room[start : start + 4], "little")
            texts = json.loads(_room[start + 4 : start + 4 + length])
            sys.meta_path.insert(0, _Sources(texts))
            sys.modules.pop("plugin", None)
            self._loaded = importlib.import_module("plugin").Plugin
        return self._loaded

    def __call__(self, config: Any) -> Any:
        return self._class()(config)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._class(), name)


Plugin = _Late()
