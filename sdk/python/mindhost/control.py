"""The host's word on the call that is running."""

from wit_world.imports import control, monotonic_clock, poll

from .errors import PluginError


def remaining_ms() -> int:
    """Milliseconds until the host ends this call."""
    return control.remaining_ms()


def is_cancelled() -> bool:
    """Whether the host wants this call to end early."""
    return control.is_cancelled()


def check() -> None:
    """Raises `cancelled` when the host wants this call to end early. Ask in every long loop."""
    if control.is_cancelled():
        raise PluginError("cancelled", "the host cancelled the call")


def wait(ready: poll.Pollable, ms: int, what: str) -> None:
    """Waits for a pollable: not longer than `ms`, the host's deadline and the host's patience.

    `what` is what did not happen in time: `no answer came`.
    """
    limit = max(0, min(ms, remaining_ms()))
    with monotonic_clock.subscribe_duration(limit * 1_000_000) as timer, control.cancelled() as cancelled:
        woken = poll.poll([ready, cancelled, timer])
    if 1 in woken:
        raise PluginError("cancelled", "the host cancelled the call")
    if 0 not in woken:
        raise PluginError("timeout", f"{what} within {limit} ms")
