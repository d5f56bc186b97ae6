"""The host's word on the call that is running."""

import math

from ._host import host, waited
from .errors import PluginError


def remaining_ms() -> int:
    """Milliseconds until the host ends this call."""
    return host().remaining_ms()


def is_cancelled() -> bool:
    """Whether the host wants this call to end early."""
    return host().is_cancelled()


def check() -> None:
    """Raises `cancelled` when the host wants this call to end early. Ask in every long loop."""
    if host().is_cancelled():
        raise PluginError("cancelled", "the host cancelled the call")


def sleep(seconds: float) -> None:
    """Waits. Raises `cancelled` if the host ends the call before that, and `timeout` when there is less time left."""
    if not seconds >= 0:
        raise ValueError(f"sleep needs a number of seconds from 0, not {seconds}")
    ms = math.ceil(seconds * 1000)
    if ms > remaining_ms():
        raise PluginError("timeout", f"a wait of {ms} ms is longer than the call may take")
    waited()
    if not host().sleep(ms):
        raise PluginError("cancelled", "the host cancelled the call")
