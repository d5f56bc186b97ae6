"""What a component is made of, in a folder of its own, and what makes its build the same each time."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

SDK = Path(__file__).resolve().parent

# What a project has beside its sources: Python lists the folders from which it imports, so their names are in a component.
# Those that no checkout has: results of a build, a signature or a test.
_NO_SOURCES = shutil.ignore_patterns(
    ".*", "__pycache__", "*.wasm", "*.minisig", "*.key", "*.key.pub", "*.log", "report.xml", "venv", "node_modules",
)  # fmt: skip
# What an environment has beside the packages of a plugin.
_TOOLS = shutil.ignore_patterns(
    "__pycache__", "componentize_py*", "pip", "pip-*", "setuptools*", "_distutils_hack", "distutils-precedence.pth",
    "pkg_resources", "wheel*",
)  # fmt: skip


def staged(into: Path, packages: Iterable[str]) -> list[str]:
    """Copies the project, the SDK and packages. Gives the folders from which Python imports; the project is the first."""
    folders = [into / "project"]
    _copy(Path(), folders[0], _NO_SOURCES)
    # A project that `plugin new` has made has the SDK in it.
    if not Path("mindhost").is_dir():
        folders.append(into / "sdk")
        _copy(SDK, folders[-1] / "mindhost", _NO_SOURCES)
    folders.append(into / "glue")
    _copy(SDK / "glue", folders[-1], _NO_SOURCES)
    for number, package in enumerate(packages):
        folders.append(into / f"packages{number}")
        _copy(Path(package), folders[-1], _TOOLS)
    return [str(folder) for folder in folders]


def _copy(source: Path, target: Path, ignored: object) -> None:
    # Links are followed: those that lead out of a folder lead nowhere in a sandbox.
    shutil.copytree(
        source,
        target,
        ignore=ignored,  # type: ignore[arg-type]
        copy_function=shutil.copyfile,
        ignore_dangling_symlinks=True,
    )


def packages() -> list[str]:
    """The folders with the packages of the environment in which this runs. A Python of the machine has none for us."""
    if sys.prefix == sys.base_prefix:
        return []
    return list(dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib")))


def tool() -> str:
    """componentize-py, which is installed beside the Python that runs this."""
    return str(Path(sys.executable).with_name("componentize-py"))


def wit() -> str:
    """The folder of the contract: in the SDK of a project, or beside it in the repository."""
    return str(SDK / "wit" if (SDK / "wit").is_dir() else SDK.parent.parent / "wit")


def python_path(folders: Iterable[str]) -> list[str]:
    """The options of componentize-py for the folders from which Python imports."""
    return [word for folder in folders for word in ("--python-path", folder)]


def run(arguments: list[str], into: Path, constant: str | None = None) -> subprocess.CompletedProcess[str]:
    """Runs componentize-py, with a library loaded before it."""
    # Without an environment the tool takes the packages of the machine's Python, so it gets an empty one.
    empty = into / "environment"
    Path(empty, "lib/site-packages").mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "RUST_BACKTRACE": "0", "VIRTUAL_ENV": str(empty)}
    if constant:
        environment["LD_PRELOAD"] = constant
    return subprocess.run(
        [tool(), "--quiet", *arguments], check=False, stderr=subprocess.PIPE, text=True, env=environment
    )


def constant(into: Path) -> tuple[str | None, str]:
    """The library that makes a build the same each time; or none, and why."""
    if not sys.platform.startswith("linux"):
        return None, "that needs Linux"
    compiler = os.environ.get("CC") or next(filter(shutil.which, ("cc", "gcc", "clang")), None)
    if compiler is None:
        return None, "that needs a C compiler, such as Debian's package gcc"
    library = str(into / "constant.so")
    command = [*compiler.split(), "-O1", "-shared", "-fPIC", str(SDK / "constant.c"), "-o", library]
    try:
        compiled = subprocess.run(command, check=False, capture_output=True, text=True)
        loaded = compiled.returncode == 0 and subprocess.run(
            [sys.executable, "-c", ""], check=False, env={**os.environ, "LD_PRELOAD": library}
        )
    except OSError as error:
        return None, f"{compiler} does not start: {error.strerror}"
    if not loaded:
        return None, f"{compiler} cannot compile constant.c: {compiled.stderr.strip().splitlines()[-1:]}"
    if loaded.returncode != 0:
        return None, "this system allows no filter of system calls (seccomp)"
    return library, ""
