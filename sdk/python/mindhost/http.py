"""HTTP: one request, one response whose body is read piece by piece.

The host decides which origins a plugin reaches, and adds the credentials that the manifest gives to it.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from componentize_py_types import Err, Ok
from wit_world.imports import outgoing_handler, streams
from wit_world.imports import wasi_http_types as types

from .control import wait
from .errors import PluginError

_READ = 64 * 1024
# With these a body is usual: without a length an empty one would be sent in chunks, which not every server reads.
_CARRYING = {"POST", "PUT", "PATCH"}
_METHODS = {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"}


class Response:
    """The head of a response, and its body to read."""

    def __init__(self, incoming: types.IncomingResponse, future: types.FutureIncomingResponse, timeout_ms: int):
        self.status = incoming.status()
        with incoming.headers() as fields:
            self.headers = [(name, value.decode("latin-1")) for name, value in fields.entries()]
        body = incoming.consume()
        # Children go before what they came from.
        self._resources = [body.stream(), body, incoming, future]
        self._timeout_ms = timeout_ms

    def header(self, name: str) -> str | None:
        """The value of the first header of this name."""
        return next((value for own, value in self.headers if own.lower() == name.lower()), None)

    def pieces(self) -> Iterator[bytes]:
        """The body as pieces of bytes. Leaving the loop early ends the exchange."""
        try:
            while (piece := self._read()) is not None:
                yield piece
        finally:
            self.close()

    def lines(self, limit: int = 16 << 20) -> Iterator[str]:
        """The body as lines of text, without their ends. A longer one is an error."""
        rest = b""
        for piece in self.pieces():
            *whole, rest = (rest + piece).split(b"\n")
            for line in whole:
                yield line.removesuffix(b"\r").decode("utf-8", "replace")
            if len(rest) > limit:
                raise PluginError("too-large", f"a line of the response is longer than {limit} bytes")
        if rest:
            yield rest.decode("utf-8", "replace")

    def text(self, limit: int = 8 << 20) -> str:
        """The whole body as text; more than `limit` bytes are the error `too-large`."""
        whole = bytearray()
        for piece in self.pieces():
            whole += piece
            if len(whole) > limit:
                raise PluginError("too-large", f"the response is larger than {limit} bytes")
        return whole.decode("utf-8", "replace")

    def json(self, limit: int = 8 << 20) -> Any:
        """The whole body as JSON."""
        try:
            return json.loads(self.text(limit))
        except ValueError:
            raise PluginError("upstream", f"the response (status {self.status}) is not JSON") from None

    def close(self) -> None:
        """Ends the exchange, finished or not."""
        resources, self._resources = self._resources, []
        for resource in resources:
            resource.__exit__(None, None, None)

    def _read(self) -> bytes | None:
        while self._resources:
            stream = self._resources[0]
            try:
                piece = stream.read(_READ)
            except Err as error:
                if isinstance(error.value, streams.StreamError_Closed):
                    return None
                raise PluginError("connection-lost", "the answer broke off") from None
            if piece:
                return piece
            with stream.subscribe() as ready:
                wait(ready, self._timeout_ms, "the answer fell silent")
        return None


def request(
    url: str,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: str | bytes = b"",
    timeout_ms: int = 60_000,
) -> Response:
    """Sends a request and waits for the head of its response. A status is never an error here."""
    payload = body.encode() if isinstance(body, str) else body
    try:
        outgoing = _head(url, method, headers or {}, payload)
        sink = outgoing.body()
        options = types.RequestOptions()
        options.set_first_byte_timeout(timeout_ms * 1_000_000)
        options.set_between_bytes_timeout(timeout_ms * 1_000_000)
        future = outgoing_handler.handle(outgoing, options)
        _write(sink, payload, timeout_ms)
        with future.subscribe() as ready:
            while (answer := future.get()) is None:
                wait(ready, timeout_ms, "no answer came")
        return Response(_unwrap(_unwrap(answer)), future, timeout_ms)
    except Err as error:
        raise _failed(error.value) from None


def get(url: str, **options: Any) -> Response:
    """`GET` of a URL."""
    return request(url, method="GET", **options)


def post(url: str, body: str | bytes, **options: Any) -> Response:
    """`POST` of a text or bytes."""
    return request(url, method="POST", body=body, **options)


def _head(url: str, method: str, headers: Mapping[str, str], payload: bytes) -> types.OutgoingRequest:
    match = re.fullmatch(r"(https?)://([^/?#@\s]+)([^#\s]*)(#.*)?", url, re.IGNORECASE)
    if not match:
        raise PluginError("invalid-config", "the URL is not an absolute http or https URL")
    scheme, authority, path, _ = match.groups()
    entries = [(name.lower(), str(value).encode()) for name, value in headers.items()]
    if payload or method in _CARRYING:
        entries.append(("content-length", str(len(payload)).encode()))
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
                        wait(ready, timeout_ms, "the request was not taken")
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
