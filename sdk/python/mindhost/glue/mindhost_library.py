"""The parts of the standard library that it loads by itself when it needs them.

A component only has the modules that are loaded when it is built, so these are loaded then.
"""

# `datetime.strptime` and `time.strptime`.
import _strptime  # noqa: F401
import encodings
import importlib
import json
import pkgutil

from mindhost._texts import check_depth

_HINT = "a component only has the modules that are imported when it is built: import it at the top of plugin.py"


def _load_encodings() -> None:
    for module in pkgutil.iter_modules(encodings.__path__):
        try:
            importlib.import_module(f"encodings.{module.name}")
        except ImportError:
            # It stands on native code that is not there, such as that of `bz2`, or on Windows.
            continue


def _guard_json() -> None:
    """JSON with too many levels is a RecursionError, as it is elsewhere; here it would end the instance."""
    decode = json.JSONDecoder.decode

    def guarded(self: json.JSONDecoder, text: str, *arguments: object) -> object:
        check_depth(text)
        return decode(self, text, *arguments)

    json.JSONDecoder.decode = guarded


_load_encodings()
_guard_json()


def hint(error: Exception) -> str:
    """What to do about a module that is missing now; nothing about other errors."""
    is_encoding = isinstance(error, LookupError) and str(error).startswith("unknown encoding")
    return _HINT if isinstance(error, ModuleNotFoundError) or is_encoding else ""
