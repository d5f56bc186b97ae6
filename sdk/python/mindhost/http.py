"""HTTP: one request, one response whose body is read piece by piece.

The host decides which origins a plugin reaches, and adds the credentials that the manifest gives to it.
"""

from __future__ import annotations

import datetime
import decimal
import email.utils
import random
import re
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from . import control
from ._host import Exchange, Sent, host, waited
from ._json_values import json_values
from ._texts import DEEPEST, loads, well_formed
from .errors import ErrorKind, PluginError

# A server that says these wants the same request again, later.
_BUSY = {429, 503}
_FIRST_WAIT_MS = 500
_LONGEST_WAIT_MS = 30_000
# Time for the request after a wait.
_MARGIN_MS = 1_000
# A call that has not even so long left has used its time up; what it lacks is time, and not a calmer server.
_SHORT_WAIT_MS = 5_000

Answer = TypeVar("Answer")
Next = Callable[[Any, "Response"], "str | Mapping[str, Any] | None"]
"""What `pages` asks for the next page: its URL, or a dict with `url` and `body`, or none at the end."""


class Response:
    """The head of a response, and its body to read once."""

    def __init__(self, exchange: Exchange):
        self._exchange: Exchange | None = exchange
        self.status: int = exchange.status
        self.headers: list[tuple[str, str]] = exchange.headers

    def header(self, name: str) -> str | None:
        """The value of the first header of this name."""
        return next((value for own, value in self.headers if own.lower() == name.lower()), None)

    def pieces(self) -> Iterator[bytes]:
        """The body as pieces of bytes. Leaving the loop early ends the exchange."""
        try:
            while self._exchange is not None and (piece := self._exchange.read()) is not None:
                waited()
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

    def events(self, limit: int = 4 << 20) -> Iterator[str]:
        """The data of each server-sent event; one longer than `limit` is the error `too-large`."""
        data: list[str] = []
        length = 0
        for line in self.lines():
            # A line that begins with a colon is a comment; other fields than `data` say nothing here.
            name, _, value = line.removeprefix("\ufeff").partition(":")
            if name == "data":
                data.append(value.removeprefix(" "))
                length += len(value) + 1
                if length > limit:
                    raise PluginError("too-large", f"an event of the response is longer than {limit}")
            elif line == "":
                if any(data):
                    yield "\n".join(data)
                data, length = [], 0
        # Some servers leave out the last empty line.
        if any(data):
            yield "\n".join(data)

    def text(self, limit: int = 8 << 20) -> str:
        """The whole body as text; more than `limit` bytes are the error `too-large`."""
        whole = bytearray()
        for piece in self.pieces():
            whole += piece
            if len(whole) > limit:
                raise PluginError("too-large", f"the response is larger than {limit} bytes")
        return whole.decode("utf-8", "replace")

    def json(self, limit: int = 8 << 20, *, exact: bool = False) -> Any:
        """The whole body as JSON. With `exact`, numbers with a point or an exponent are `Decimal`."""
        text = self.text(limit)
        try:
            return loads(text, parse_float=decimal.Decimal if exact else None)
        except RecursionError:
            message = f"the response (status {self.status}) is JSON with more than {DEEPEST} levels"
            raise PluginError("upstream", message) from None
        except (ValueError, decimal.InvalidOperation):
            raise PluginError("upstream", f"the response (status {self.status}) is not JSON") from None

    def json_stream(self, limit: int = 8 << 20, *, lines: bool = False, exact: bool = False) -> Iterator[Any]:
        """The JSON values of the body, each when it is whole: one behind the other, with or without lines between them.

        For vendors that send an answer as chunks of JSON. An array at the top is opened: its elements are the values,
        so `[[1, 2], [3, 4]]` gives two rows. With `lines` no array is opened, for NDJSON whose lines are arrays. A value
        of more than `limit` bytes is the error `too-large`; a body that ends within a value or an open array is
        `connection-lost`; one that is not JSON is `upstream`, with the byte at which it is wrong. Values before an error
        come first.
        """
        for place, value in json_values(self.pieces(), limit, lines=lines, status=self.status):
            try:
                yield loads(value.decode("utf-8", "replace"), parse_float=decimal.Decimal if exact else None)
            except (RecursionError, ValueError, decimal.InvalidOperation):
                message = f"the response (status {self.status}) is not JSON: the value at byte {place} cannot be read"
                raise PluginError("upstream", message) from None

    def close(self) -> None:
        """Ends the exchange, finished or not."""
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            exchange.close()


def request(
    url: str,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: str | bytes = b"",
    timeout_ms: int = 60_000,
    retries: int = 0,
) -> Response:
    """Sends a request and waits for the head of its response. A status is not an error.

    `timeout_ms` is the longest silence: until the head of the response, and between two pieces of its body. A longer
    one is the error `timeout`. The whole answer may take as long as the call may.

    With `retries` it is sent again while the server is busy (429, 503): after its `Retry-After`, or without one after a
    random wait of 0.25 to 0.5 s, then of 0.5 to 1 s, and so on up to 30 s. A server that is still busy after them is
    the error `rate-limited`. A wait that leaves the call less than a second is not begun: then the error is `timeout`
    if the wait is at most 5 s, and `rate-limited` if it is longer.
    """
    fields = [(name.lower(), str(value)) for name, value in (headers or {}).items()]
    sent = Sent(method, url, fields, _bytes(body), timeout_ms)
    attempt = 0
    while True:
        waited()
        response = Response(host().send(sent))
        if retries == 0 or response.status not in _BUSY:
            return response
        response.close()
        asked = retry_after(response)
        pause = _backoff(attempt) if asked is None else asked
        attempt += 1
        if attempt > retries:
            raise _busy(response.status, asked, attempt)
        left = control.remaining_ms()
        if pause + _MARGIN_MS > left:
            raise _too_late(response.status, pause, asked, left)
        control.sleep(pause / 1000)


def _bytes(body: str | bytes) -> bytes:
    return well_formed(body).encode() if isinstance(body, str) else body


def get(
    url: str, *, headers: Mapping[str, str] | None = None, timeout_ms: int = 60_000, retries: int = 0
) -> Response:
    """`GET` of a URL."""
    return request(url, headers=headers, timeout_ms=timeout_ms, retries=retries)


def post(
    url: str,
    body: str | bytes,
    *,
    headers: Mapping[str, str] | None = None,
    timeout_ms: int = 60_000,
    retries: int = 0,
) -> Response:
    """`POST` of a text or bytes."""
    return request(url, method="POST", headers=headers, body=body, timeout_ms=timeout_ms, retries=retries)


def retry(ask: Callable[[], Answer], *, retries: int = 5) -> Answer:
    """Calls a function again while it raises `rate-limited`: after `retry_after_ms` of the error, or a wait that grows.

    For servers that say in the body of an answer that they are busy, as GraphQL does. The waits and errors are those of
    `retries` of a request.
    """
    attempt = 0
    while True:
        try:
            return ask()
        except PluginError as error:
            if error.kind != "rate-limited" or attempt >= retries:
                raise
            asked = error.retry_after_ms
            pause = _backoff(attempt) if asked is None else asked
            left = control.remaining_ms()
            if pause + _MARGIN_MS > left:
                raise _too_late(error.code, pause, asked, left) from None
        attempt += 1
        control.sleep(pause / 1000)


def pages(
    url: str,
    *,
    next: Next | None = None,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: str | bytes = b"",
    timeout_ms: int = 60_000,
    retries: int = 0,
    exact: bool = False,
) -> Iterator[Any]:
    """The pages of an answer as JSON, one after another.

    `next(page, response)` gives the URL of the next page, whole or relative to the last, or `{"url": …, "body": …}`, or
    none at the end. Without it the header `Link` with `rel="next"` says. A status from 400 on, and pages in a circle, are
    errors.
    """
    step = _linked if next is None else next
    # One page is remembered, later and later ones: in a circle it comes again, however long the circle is.
    remembered: tuple[str, str | bytes] | None = None
    count, until = 1, 1
    while True:
        control.check()
        if (url, body) == remembered:
            raise PluginError("upstream", "the pages of the answer go in a circle")
        if count == until:
            remembered, until = (url, body), until * 2
        count += 1
        options: dict[str, Any] = {"method": method, "headers": headers, "body": body}
        response = request(url, timeout_ms=timeout_ms, retries=retries, **options)
        if response.status >= 400:
            raise _refused(response)
        page = response.json(exact=exact)
        yield page
        following = step(page, response)
        if not following:
            return
        if isinstance(following, Mapping):
            body = following.get("body", body)
            following = following.get("url", url)
        url = urllib.parse.urljoin(url, str(following))


def with_query(url: str, **parameters: object) -> str:
    """The URL with these query parameters; none are left out, one that is there is replaced."""
    parts = urllib.parse.urlsplit(url)
    kept = [
        (name, value)
        for name, value in urllib.parse.parse_qsl(parts.query, keep_blank_values=True)
        if name not in parameters
    ]
    given = [(name, str(value)) for name, value in parameters.items() if value is not None]
    return urllib.parse.urlunsplit(parts._replace(query=urllib.parse.urlencode(kept + given)))


def retry_after(response: Response) -> int | None:
    """The milliseconds of a header `Retry-After`: seconds, or a date by the server's own clock. None without one."""
    text = (response.header("retry-after") or "").strip()
    if re.fullmatch(r"[0-9]{1,9}", text):
        return int(text) * 1000
    then = _date(text)
    if then is None:
        return None
    now = _date(response.header("date") or "") or datetime.datetime.now(datetime.timezone.utc)
    return max(0, int((then - now).total_seconds() * 1000))


def _date(text: str) -> datetime.datetime | None:
    try:
        date = email.utils.parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=datetime.timezone.utc)


def _backoff(attempt: int) -> int:
    """Twice as long each time, and not the same for everybody who was sent away together."""
    longest = min(_LONGEST_WAIT_MS, _FIRST_WAIT_MS << min(attempt, 16))
    return round(longest * (0.5 + random.random() / 2))


def _busy(status: int, retry_after_ms: int | None, attempts: int) -> PluginError:
    times = "1 attempt" if attempts == 1 else f"{attempts} attempts"
    message = f"the server is busy (status {status}, {times})"
    return PluginError("rate-limited", message, code=str(status), retry_after_ms=retry_after_ms)


def _too_late(status: int | str, pause_ms: int, retry_after_ms: int | None, left_ms: int) -> PluginError:
    """The wait does not fit into the time of the call."""
    busy = f"the server is busy (status {status})" if status else "the server is busy"
    message = (
        f"{busy}; it is asked again in {pause_ms / 1000:.1f} s at the earliest, "
        f"and {left_ms / 1000:.1f} s are left for this call"
    )
    if pause_ms <= _SHORT_WAIT_MS:
        return PluginError("timeout", message, code=str(status))
    return PluginError("rate-limited", message, code=str(status), retry_after_ms=retry_after_ms)


_REFUSALS: dict[int, ErrorKind] = {401: "auth", 403: "permission", 404: "not-found", 408: "timeout", 429: "rate-limited"}


def _refused(response: Response) -> PluginError:
    status = response.status
    response.close()
    return PluginError(
        _REFUSALS.get(status, "upstream"),
        f"the server answered with status {status}",
        code=str(status),
        retry_after_ms=retry_after(response),
    )


_LINK = re.compile(r"<([^>]*)>([^<]*)")
_IS_NEXT = re.compile(r""";\s*rel\s*=\s*(?:"(?:[^"]*\s)?next(?:\s[^"]*)?"|next\b)""", re.IGNORECASE)


def _linked(_page: Any, response: Response) -> str | None:
    for name, value in response.headers:
        if name.lower() != "link":
            continue
        for url, about in _LINK.findall(value):
            if _IS_NEXT.search(about):
                return str(url)
    return None
