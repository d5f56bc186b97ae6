"""Unit tests without a server: a stand-in for the host, in plain Python. A component never has this module.

    from mindhost.testing import open_plugin, replay
"""

from __future__ import annotations

import base64
import copy
import json
import logging
import os
import sys
import unittest
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Union, cast

from . import values
from ._events import Events
from ._host import Exchange, Sent, called, provide
from ._output import FORMAT, Handler, Lines, add_handler
from ._texts import well_formed
from .errors import PluginError
from .kinds import Connector, Filter, Model, Scan, Scanner, Statement, TableName
from .messages import CalledTool, Event, Message, Request, Text
from .rows import Answer, Cell

# The largest response that is recorded.
_LARGEST = 64 << 20
# The most that is read at a time.
_PIECE = 64 << 10


Body = Union[str, bytes, Sequence[Union[str, bytes, PluginError]]]
"""What a response brings: as a whole, or as pieces that are read one by one. An error among them breaks it off."""


@dataclass
class Response:
    """An answer for a test."""

    status: int = 200
    headers: Sequence[tuple[str, str]] = ()
    body: Body = ""


Answers = Callable[[Sent], Response]
"""What answers the requests of a test."""


@dataclass
class StandIn:
    """The host of a test, and what the plugin did with it."""

    http: Answers
    time_limit_ms: int = 60_000
    logged: list[tuple[str, str]] = field(default_factory=list)
    """Level and text of each line that the plugin logged or printed."""
    slept: list[int] = field(default_factory=list)
    """The milliseconds of each wait; a test does not wait."""
    requests: list[Sent] = field(default_factory=list)
    cancelled: bool = False
    """Set it to have the plugin see that the host cancelled the call."""

    def __enter__(self) -> StandIn:
        return self

    def __exit__(self, *_: object) -> None:
        _restore()

    def log(self, level: str, line: str) -> None:
        """Keeps the line."""
        self.logged.append((level, line))

    def remaining_ms(self) -> int:
        """Time passes only by waiting."""
        return self.time_limit_ms - sum(self.slept)

    def is_cancelled(self) -> bool:
        """What the test says."""
        return self.cancelled

    def sleep(self, ms: int) -> bool:
        """Does not wait."""
        self.slept.append(ms)
        return not self.cancelled

    def send(self, request: Sent) -> Exchange:
        """Answers as the test says."""
        self.requests.append(request)
        return _Told(self.http(request))


class _Told:
    """An answer to read."""

    def __init__(self, response: Response):
        self.status = response.status
        self.headers = list(response.headers)
        body = response.body
        self._pieces = _pieces([body] if isinstance(body, (str, bytes)) else body)

    def read(self) -> bytes | None:
        """The next bytes."""
        return next(self._pieces, None)

    def close(self) -> None:
        """Nothing more is read."""
        self._pieces = iter(())


def _pieces(body: Iterable[str | bytes | PluginError]) -> Iterator[bytes]:
    for piece in body:
        if isinstance(piece, PluginError):
            raise piece
        whole = piece.encode() if isinstance(piece, str) else piece
        yield from (whole[at : at + _PIECE] for at in range(0, len(whole), _PIECE))


def stand_in(http: Answers | None = None, *, time_limit_ms: int = 60_000) -> StandIn:
    """A host for tests, from here on the plugin's. Files are those of the machine, waits take no time.

    `print` and `logging` are logged, as in a component, and printed too. That ends with the `with` block of the
    host, or after the tests of the module if there is none.
    """
    host = StandIn(http or _refuse, time_limit_ms)
    provide(host)
    called()
    _install()
    return host


# What was there before the handlers of the tests.
_handler: Handler | None = None
_level = logging.NOTSET


def _install() -> None:
    global _handler, _level
    # A runner of tests may have put streams of its own in the place of these.
    if not isinstance(sys.stdout, Lines):
        sys.stdout = Lines("info", sys.stdout, is_copied=True)
    if not isinstance(sys.stderr, Lines):
        sys.stderr = Lines("warn", sys.stderr, is_copied=True)
    if _handler is None:
        _level = logging.getLogger().level
        _handler = add_handler(logging.Formatter(FORMAT))
        unittest.addModuleCleanup(_restore)


def _restore() -> None:
    global _handler
    if isinstance(sys.stdout, Lines):
        sys.stdout = sys.stdout.before
    if isinstance(sys.stderr, Lines):
        sys.stderr = sys.stderr.before
    if _handler is not None:
        logging.getLogger().removeHandler(_handler)
        logging.getLogger().setLevel(_level)
        _handler = None


def replay(
    path: str | Path,
    *,
    record: bool = False,
    headers: Mapping[str, str] | Callable[[Sent], Mapping[str, str]] | None = None,
    servers: Mapping[str, str | None] | None = None,
    secrets: Iterable[str | None] = (),
    time_limit_ms: int = 60_000,
) -> StandIn:
    """A stand-in whose HTTP comes from a file of fixtures.

    With `RECORD_HTTP=1` in the environment, or where the file is missing and `record` is true, requests go to the
    real server and the file is written anew; several tests of one run may share it. `headers` are what the host would
    add, such as the key, or a function that gives it for a request: they are sent to the origin of the first request
    alone, or to those of `servers`, which says where the real server of a URL of the tests is. In answers it is that
    URL again. No text of `secrets` is ever written.
    """
    path = Path(path)
    masks = [secret for secret in secrets if secret]
    if os.environ.get("RECORD_HTTP") == "1" or (record and not path.exists()):
        real = {own: there for own, there in (servers or {}).items() if there}
        return stand_in(_recorder(path, headers or {}, real, masks), time_limit_ms=time_limit_ms)
    if not path.exists():
        raise FileNotFoundError(
            f"{path} is not there; run the tests once with RECORD_HTTP=1, which asks the real server"
        )
    return stand_in(_player(path, masks), time_limit_ms=time_limit_ms)


@dataclass
class Rows:
    """The result of a statement."""

    columns: list[str]
    rows: list[list[Any]]


@dataclass
class Said:
    """The whole answer of a model."""

    text: str = ""
    tool_calls: list[CalledTool] = field(default_factory=list)
    usage: dict[str, int] = field(default_factory=dict)
    stop: str | None = None
    events: list[Event] = field(default_factory=list)
    """Everything that the host gets, one by one."""


@dataclass
class Opened:
    """A plugin with a configuration. Each call opens it anew, and checks what it gives as a component does."""

    plugin: type[Connector] | type[Scanner] | type[Model]
    config: dict[str, Any]

    def scan(
        self,
        table: str | TableName,
        *,
        columns: list[str] | None = None,
        filters: Sequence[Filter] = (),
        limit: int | None = None,
    ) -> list[dict[str, Any]]:
        """The rows of a table as dicts."""
        source = self.plugin(self.config)
        assert isinstance(source, Scanner), "only a scanner is scanned"
        name = ("main", table) if isinstance(table, str) else table
        about = source.describe(name)
        if about is None:
            raise PluginError("not-found", f"there is no table {name[1]}")
        own = {column.name: column for column in about.columns}
        wanted = list(own) if columns is None else columns
        kept = [one for one in filters if source.filter_support(name, one) != "no"]
        rows = source.scan(name, Scan(wanted, kept, limit, "test"))
        answer = Answer([own[column] for column in wanted], rows)
        names = [well_formed(column) for column in wanted]
        return [dict(zip(names, row)) for row in _read(answer)]

    def query(self, text: str) -> Rows:
        """The columns and rows of a statement."""
        connection = self.plugin(self.config)
        assert isinstance(connection, Connector), "only a connector is queried"
        columns, rows = connection.query(Statement(text, "test", 60_000, 16 << 20))
        return Rows([well_formed(column.name) for column in columns], _read(Answer(columns, rows)))

    def complete(self, request: str | Request) -> Said:
        """The whole answer to a question or a request."""
        model = self.plugin(self.config)
        assert isinstance(model, Model), "only a model is asked"
        if isinstance(request, str):
            request = Request(messages=[Message("user", [Text(request)])])
        said = Said()
        events = Events(model.complete(request))
        while (given := events.next()) is not None:
            for told in given:
                said.events.append(cast(Event, told))
                said.text += told.get("text", "")
                said.tool_calls += [told["tool_call"]] if "tool_call" in told else []
                said.usage = told.get("usage", said.usage)
                said.stop = told.get("stop", said.stop)
        events.check_end()
        return said


def open_plugin(plugin: type[Connector] | type[Scanner] | type[Model], config: dict[str, Any]) -> Opened:
    """A plugin as the host opens it: what `config` leaves out has the default of `connection_data` in manifest.json,
    which is beside the file of the plugin.
    """
    config = copy.deepcopy(config)
    file = getattr(sys.modules.get(plugin.__module__), "__file__", None) or "plugin.py"
    manifest = Path(file).with_name("manifest.json")
    if manifest.is_file():
        _fill(json.loads(manifest.read_text(encoding="utf-8")).get("connection_data"), config)
    return Opened(plugin, config)


def _fill(schema: Any, data: dict[str, Any]) -> None:
    """Defaults, as the host fills them in: also in objects that are given."""
    for name, about in (schema or {}).get("properties", {}).items():
        if isinstance(data.get(name), dict):
            _fill(about, data[name])
        elif name not in data and "default" in about:
            data[name] = copy.deepcopy(about["default"])


_SHOWN: dict[str, Callable[[Any], Any]] = {
    "date": values.date_of,
    "time": values.time_of,
    "timestamp": values.timestamp_of,
    "timestamp-utc": values.timestamp_utc_of,
}


def _read(answer: Answer) -> list[list[Any]]:
    rows: list[list[Any]] = []
    while (batch := answer.next(3, 1 << 20)) is not None:
        rows += [[_plain(cell) for cell in row] for row in batch]
    answer.close()
    return rows


def _plain(cell: Cell) -> Any:
    return _SHOWN[cell.tag](cell.value) if cell.tag in _SHOWN else cell.value


def _refuse(request: Sent) -> Response:
    raise AssertionError(
        f"the test has no answer for {request.method} {request.url}; use replay(), or give stand_in() a function"
    )


def _key(request: Mapping[str, Any]) -> tuple[str, str, str]:
    return request["method"], request["url"], request.get("body", "")


def _player(path: Path, masks: list[str]) -> Answers:
    """Answers in the order in which they were recorded; the last answer to a request stays."""
    waiting: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for fixture in json.loads(path.read_text(encoding="utf-8")):
        waiting.setdefault(_key(fixture["request"]), []).append(fixture["response"])

    def answer(request: Sent) -> Response:
        answers = waiting.get(_key(_asked(request, masks)))
        if not answers:
            sent = f" with the body {request.body.decode(errors='replace')[:200]}" if request.body else ""
            raise AssertionError(
                f"{path} has no answer for {request.method} {request.url}{sent}; record it with RECORD_HTTP=1"
            )
        told = answers.pop(0) if len(answers) > 1 else answers[0]
        body = told["body"] if isinstance(told["body"], str) else base64.b64decode(told["body"]["base64"])
        return Response(told["status"], [(name, value) for name, value in told["headers"]], body)

    return answer


# Headers that say nothing that a plugin reads, or too much.
_UNWRITTEN = {
    "connection", "content-encoding", "content-length", "keep-alive", "server", "set-cookie", "transfer-encoding"
}  # fmt: skip


_Headers = Mapping[str, str] | Callable[[Sent], Mapping[str, str]]

# What this process has recorded, by file: several tests of it may write into one.
_recorded: dict[Path, list[dict[str, Any]]] = {}


def _recorder(path: Path, extra: _Headers, servers: Mapping[str, str], masks: list[str]) -> Answers:
    fixtures = _recorded.setdefault(path.resolve(), [])
    trusted = {_origin(real) for real in servers.values()}

    def own(text: str) -> str:
        for url, real in servers.items():
            text = text.replace(real, url)
        return text

    def answer(request: Sent) -> Response:
        url = request.url
        for own_url, real in servers.items():
            url = url.replace(own_url, real)
        if not trusted:
            trusted.add(_origin(url))
        added: Mapping[str, str] = {}
        if _origin(url) in trusted:
            added = extra(request) if callable(extra) else extra
        response = _fetched(url, request, added)
        response.headers = [(name, own(value)) for name, value in response.headers]
        text = _written(response.body)
        response.body = own(text) if isinstance(text, str) else response.body
        # The server's clock matters beside a date to come back at, and makes two recordings differ.
        is_later = any(name == "retry-after" for name, _ in response.headers)
        told = [one for one in response.headers if one[0] not in _UNWRITTEN and (is_later or one[0] != "date")]
        response.headers = told
        written = {"status": response.status, "headers": told, "body": _written(response.body)}
        fixture = {"request": _asked(request, masks), "response": json.loads(_masked(json.dumps(written), masks))}
        # The last answer to a request stays, so the same one again says nothing new.
        before = [one for one in fixtures if _key(one["request"]) == _key(fixture["request"])]
        if before[-1:] != [fixture]:
            fixtures.append(fixture)
        path.write_text(json.dumps(fixtures, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        return response

    return answer


def _origin(url: str) -> str:
    parts = urllib.parse.urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower()


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A plugin sees a redirect, as it would through the host."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _fetched(url: str, request: Sent, extra: Mapping[str, str]) -> Response:
    fields = {**dict(request.headers), **extra}
    body = request.body or (b"" if request.method in {"POST", "PUT", "PATCH"} else None)
    asked = urllib.request.Request(url, data=body, headers=fields, method=request.method)
    try:
        with urllib.request.build_opener(_NoRedirects).open(asked, timeout=60) as answer:
            return Response(answer.status, _lower(answer.headers.items()), answer.read(_LARGEST))
    except urllib.error.HTTPError as answer:
        return Response(answer.code, _lower(answer.headers.items()), answer.read(_LARGEST))
    except OSError as error:
        raise PluginError("unreachable", f"{url}: {error}") from None


def _lower(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(name.lower(), value) for name, value in headers]


def _asked(request: Sent, masks: list[str]) -> dict[str, Any]:
    asked = {"method": request.method, "url": _masked(request.url, masks)}
    body = _masked(request.body.decode("utf-8", "replace"), masks)
    return {**asked, "body": body} if body else asked


def _written(body: Body) -> str | dict[str, str]:
    """Text where the bytes are text."""
    if isinstance(body, str):
        return body
    whole = body if isinstance(body, bytes) else b"".join(_pieces(body))
    try:
        return whole.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(whole).decode()}


def _masked(text: str, masks: list[str]) -> str:
    for secret in masks:
        text = text.replace(json.dumps(secret)[1:-1], "***").replace(secret, "***")
    return text
