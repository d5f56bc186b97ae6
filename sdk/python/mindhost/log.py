"""Lines for the host's log, limited in rate and length. No secrets."""

from wit_world.imports import log as host


def debug(message: object) -> None:
    """For the author."""
    host.log(host.Level.DEBUG, str(message))


def info(message: object) -> None:
    """For the operator, when all is well."""
    host.log(host.Level.INFO, str(message))


def warn(message: object) -> None:
    """For the operator, when something should be looked at."""
    host.log(host.Level.WARN, str(message))


def error(message: object) -> None:
    """For the operator, when something failed."""
    host.log(host.Level.ERROR, str(message))
