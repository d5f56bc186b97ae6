"""The host of a component: the plugin log, waiting, and HTTP over WASI."""

import re
from typing import Any

from componentize_py_types import Err, Ok
from mindhost._host import Sent, provide
from mindhost.errors import PluginError
from wit_world.imports import control, monotonic_clock, outgoing_handler, poll, streams
from wit_world.imports import log as host_log
from wit_world.imports import wasi_http_types as types

_READ = 64 * 1024
_MARGIN_MS = 2_000
# With these a body is usual: without a length an empty one would be sent in chunks, which not every server reads.
_CARRYING = {"POST", "PUT", "PATCH"}
_METHODS = {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"}


class Wasi:
    """What `mindhost._host.Host` says, in a component."""

    def log(self, level: str, line: str) -> None:
        host_log.log(host_log.Level[level.upper()], line)

    def remaining_ms(self) -> int:
        return control.remaining_ms()

    def is_cancelled(self) -> bool:
        return control.is_cancelled()

    def sleep(self, ms: int) -> bool:
        return not _waited(min(ms, control.remaining_ms()), [])[0]

    def send(self, request: Sent) -> "Exchange":
        timeout_ms = request.timeout_ms
        try:
            outgoing = _head(request)
            sink = outgoing.body()
            options = types.RequestOptions()
            options.set_first_byte_timeout(timeout_ms * 1_000_000)
            # Silence is counted here; the host counts from the last piece on, also while nobody reads.
            options.set_between_bytes_timeout((timeout_ms + _MARGIN_MS) * 1_000_000)
            future = outgoing_handler.handle(outgoing, options)
            _write(sink, request.body, timeout_ms)
            with future.subscribe() as ready:
                while (answer := future.get()) is None:
                    _wait(ready, timeout_ms, "no answer came")
            return Exchange(_unwrap(_unwrap(answer)), future, timeout_ms)
        except Err as error:
            if isinstance(error.value, types.ErrorCode_ConnectionReadTimeout):
                raise PluginError("timeout", f"no answer came for {_seconds(timeout_ms)} s") from None
            raise _failed(error.value) from None


provide(Wasi())


def _wait(ready: poll.Pollable, ms: int, what: str) -> None:
    """Waits for a pollable: not longer than `ms`, the host's deadline and the host's patience.

    `what` is what did not happen for so long: `no answer came`.
    """
    left = max(0, control.remaining_ms())
    is_cancelled, is_ready = _waited(min(ms, left), [ready])
    if is_cancelled:
        raise PluginError("cancelled", "the host cancelled the call")
    if not is_ready and left < ms:
        raise PluginError("timeout", f"{what} before the time of the call was over")
    if not is_ready:
        raise PluginError("timeout", f"{what} for {_seconds(ms)} s")


def _seconds(ms: int) -> str:
    return f"{ms / 1000:g}"


def _waited(ms: int, pollables: list[poll.Pollable]) -> tuple[bool, bool]:
    """Whether the call was cancelled, and whether the pollable became ready, after at most so long."""
    with monotonic_clock.subscribe_duration(ms * 1_000_000) as timer, control.cancelled() as cancelled:
        woken = poll.poll([cancelled, timer, *pollables])
    return 0 in woken, 2 in woken


class Exchange:
    """The head of a response, and its body to read."""

    def __init__(self, incoming: types.IncomingResponse, future: types.FutureIncomingResponse, timeout_ms: int):
        self.status = incoming.status()
        with incoming.headers() as fields:
            self.headers = [(name, value.decode("latin-1")) for name, value in fields.entries()]
        body = incoming.consume()
        # Children go before what they came from.
        self._resources = [body.stream(), body, incoming, future]
        self._timeout_ms = timeout_ms

    def close(self) -> None:
        """Ends the exchange, finished or not."""
        resources, self._resources = self._resources, []
        for resource in resources:
            resource.__exit__(None, None, None)

    def read(self) -> bytes | None:
        """The next bytes of the body; none at its end."""
        while self._resources:
            stream = self._resources[0]
            try:
                piece = stream.read(_READ)
            except Err as error:
                if isinstance(error.value, streams.StreamError_Closed):
                    return None
                raise self._broken(error.value) from None
            if piece:
                return piece
            with stream.subscribe() as ready:
                _wait(ready, self._timeout_ms, "the answer fell silent")
        return None

    def _broken(self, error: Any) -> PluginError:
        """Why there is no more of the answer. The host tells its own timeout in the text alone."""
        with error.value as cause:
            code, text = types.http_error_code(cause), cause.to_debug_string()
        if isinstance(code, types.ErrorCode_ConnectionReadTimeout) or "read timeout" in text:
            return PluginError("timeout", f"the answer fell silent for {_seconds(self._timeout_ms)} s")
        return PluginError("connection-lost", "the answer broke off")


def _head(request: Sent) -> types.OutgoingRequest:
    match = re.fullmatch(r"(https?)://([^/?#@\s]+)([^#\s]*)(#.*)?", request.url, re.IGNORECASE)
    if not match:
        raise PluginError("invalid-config", "the URL is not an absolute http or https URL")
    scheme, authority, path, _ = match.groups()
    method = request.method
    entries = [(name, value.encode()) for name, value in request.headers]
    if request.body or method in _CARRYING:
        entries.append(("content-length", str(len(request.body)).encode()))
    outgoing = types.OutgoingRequest(types.Fields.from_list(entries))
    known = getattr(types, f"Method_{method.capitalize()}") if method in _METHODS else None
    outgoing.set_method(known() if known else types.Method_Other(method))
    outgoing.set_scheme(types.Scheme_Https() if scheme.lower() == "https" else types.Scheme_Http())
    outgoing.set_authority(authority)
    outgoing.set_path_with_query(path if path.startswith("/") else f"/{path}")
    return outgoing


def _write(sink: types.OutgoingBody, payload: bytes, timeout_ms: int) -> None:
    """Writes the body. A peer that answers before it read everything is no error: its answer says what is wrong."""
    with sink.write() as stream:
        try:
            at = 0
            while at < len(payload):
                room = stream.check_write()
                if room == 0:
                    with stream.subscribe() as ready:
                        _wait(ready, timeout_ms, "the request was not taken")
                    continue
                stream.write(payload[at : at + room])
                at += room
            stream.flush()
        except Err:
            return
    types.OutgoingBody.finish(sink, None)


def _unwrap(result: Ok | Err) -> Any:
    if isinstance(result, Ok):
        return result.value
    raise result


_KINDS = {
    "HttpRequestDenied": ("denied", "the configuration does not name this destination"),
    "DestinationIpProhibited": ("denied", "the configuration does not name this destination"),
    "DnsError": ("unreachable", "the host name cannot be resolved"),
    "DnsTimeout": ("unreachable", "the host name cannot be resolved"),
    "ConnectionRefused": ("unreachable", "the connection was refused"),
    "DestinationNotFound": ("unreachable", "the server cannot be found"),
    "DestinationUnavailable": ("unreachable", "the server cannot be reached"),
    "DestinationIpUnroutable": ("unreachable", "the server cannot be reached"),
    "ConnectionTimeout": ("timeout", "the connection timed out"),
    "ConnectionReadTimeout": ("timeout", "the answer fell silent"),
    "ConnectionWriteTimeout": ("timeout", "the request was not taken"),
    "HttpResponseTimeout": ("timeout", "no answer came"),
    "ConnectionTerminated": ("connection-lost", "the connection was cut"),
    "HttpResponseIncomplete": ("connection-lost", "the answer broke off"),
    "TlsProtocolError": ("tls", "the TLS handshake failed"),
    "TlsCertificateError": ("tls", "the certificate is not trusted"),
    "TlsAlertReceived": ("tls", "the server refused the TLS handshake"),
}


def _failed(code: Any) -> PluginError:
    name = type(code).__name__.removeprefix("ErrorCode_")
    kind, message = _KINDS.get(name, ("upstream", f"the request failed: {name}"))
    return PluginError(kind, message)
