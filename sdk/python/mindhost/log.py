"""Lines for the plugin log, limited in rate and length. No secrets. `print` and `logging` write there too."""

from ._host import log_lines


def debug(message: object) -> None:
    """For the author."""
    log_lines("debug", message)


def info(message: object) -> None:
    """For the operator, when all is well."""
    log_lines("info", message)


def warn(message: object) -> None:
    """For the operator, when something should be looked at."""
    log_lines("warn", message)


def error(message: object) -> None:
    """For the operator, when something failed."""
    log_lines("error", message)
