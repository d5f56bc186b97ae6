"""Packs the SDKs for JavaScript and Python as they are published.

    python3 sdk/packages/pack.py javascript FOLDER    mindhost-sdk-0.1.0.tgz, with `npm pack`
    python3 sdk/packages/pack.py python FOLDER        a wheel and a source archive, with `python -m build`

Both have the contract (WIT) in them, which lies beside them in the repository. That of Rust is `cargo package`.
"""

import importlib.util
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_SDK = _HERE.parent
_MADE = shutil.ignore_patterns("__pycache__")


def main() -> int:
    if len(sys.argv) != 3 or sys.argv[1] not in _PACKERS:
        print(__doc__, file=sys.stderr)
        return 2
    language, output = sys.argv[1], Path(sys.argv[2]).resolve()
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "package"
        shutil.copytree(_HERE / language, package)
        shutil.copyfile(_SDK.parent / "LICENSE", package / "LICENSE")
        return _PACKERS[language](package, output)


def _not_wit(folder: str, names: "list[str]") -> "list[str]":
    """What lies beside the contract: its page, its releases, and the packages that are here a second time."""
    is_contract = Path(folder).name == "mindhost-plugin"
    return [name for name in names if is_contract and not name.endswith(".wit")]


def _javascript(package: Path, output: Path) -> int:
    shutil.copytree(_SDK / "javascript", package, dirs_exist_ok=True)
    shutil.copytree(_SDK / "wit", package / "wit", ignore=_not_wit)
    return subprocess.run(["npm", "pack", "--pack-destination", output], cwd=package, check=False).returncode


def _python(package: Path, output: Path) -> int:
    shutil.copytree(_SDK / "python/mindhost", package / "mindhost", ignore=_MADE)
    shutil.copytree(_SDK / "wit", package / "mindhost/wit", ignore=_not_wit)
    # The tools of the environment in which this runs: nothing is downloaded.
    if missing := [tool for tool in ("build", "setuptools") if importlib.util.find_spec(tool) is None]:
        print(f"{sys.executable} has no {' and no '.join(missing)}: pip install build 'setuptools>=77'", file=sys.stderr)
        return 1
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", output, package]
    return subprocess.run(command, check=False).returncode


_PACKERS = {"javascript": _javascript, "python": _python}

if __name__ == "__main__":
    sys.exit(main())
