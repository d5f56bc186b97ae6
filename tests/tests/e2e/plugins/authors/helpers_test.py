"""The SDK for Python in plain Python. Its folder is in PYTHONPATH."""

import datetime
import decimal
import contextlib
import inspect
import io
import json
import logging
import os
import pathlib
import re
import sys
import tempfile
import threading
import unittest
from unittest import mock
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import mindhost
from mindhost import (
    Column,
    ColumnStatistics,
    Connector,
    Filter,
    Model,
    PluginError,
    Scanner,
    StatisticsOptions,
    Table,
    Tagged,
    control,
    http,
    log,
    rows,
    values,
)
from mindhost import _texts as texts
from mindhost import build
from mindhost.testing import Response, Said, open_plugin, replay, stand_in


def told(*responses: Response) -> Any:
    """A host whose servers give these answers."""
    waiting = list(responses)
    return stand_in(lambda _: waiting.pop(0))


def busy(status: int = 429, **headers: str) -> Response:
    return Response(status, [(name.replace("_", "-"), value) for name, value in headers.items()])


class Values(unittest.TestCase):
    """Values of Python that a column cannot hold are named, and never bent until they fit."""

    def given(self, type: str, value: object) -> Any:
        try:
            return rows._encode(Column("c", type), value).value
        except PluginError as error:
            return error.message

    def test_no_value_is_bent(self) -> None:
        for type, value, expected in [
            ("boolean", "false", "a value of c is no boolean but a Python str"),
            ("boolean", 0, False),
            ("boolean", True, True),
            ("int64", 1.9, "a value of c is no int64 but a Python float"),
            ("int64", 2.0, 2),
            ("int64", "9007199254740993", 2**53 + 1),
            ("text", [1], "a value of c is no text but a Python list"),
            ("text", 5, "5"),
            ("any", Tagged("date", "2024-02-29"), 19782),
            ("time", "13:45:00", 49_500_000_000),
        ]:
            self.assertEqual(self.given(type, value), expected, (type, value))

    def test_what_the_contract_cannot_say_travels_as_it_is(self) -> None:
        zone = datetime.timezone(datetime.timedelta(hours=2))
        in_zone = "13:45:00+02:00"
        for type, value, text in [
            ("time", in_zone, in_zone),
            ("time", datetime.time(13, 45, tzinfo=zone), in_zone),
            ("timestamp", "0001-01-01T00:00:00+01:00", "0001-01-01T00:00:00+01:00"),
            ("timestamp-utc", datetime.datetime(1, 1, 1, tzinfo=zone), "0001-01-01 00:00:00+02:00"),
        ]:
            self.assertEqual(rows._encode(Column("c", type), value), rows.Cell("other", text), (type, value))

    def test_a_connector_without_statistics_says_so(self) -> None:
        options = StatisticsOptions(["id"], max_rows=100, max_ms=1_000)
        self.assertIsNone(Connector({}).statistics(("main", "item"), options))
        own = ColumnStatistics("id")
        self.assertEqual((own.null_fraction, own.common_values, own.estimated), (None, [], True))

    def test_an_unknown_type_is_named(self) -> None:
        with self.assertRaisesRegex(PluginError, "column c has the unknown type int"):
            rows.column(Column("c", "int"))

    def test_dates_and_decimals_go_both_ways(self) -> None:
        self.assertEqual(values.date_of(values.days_of(datetime.date(2024, 2, 29))), datetime.date(2024, 2, 29))
        moment = datetime.datetime(2024, 2, 29, 13, 45, 0, 1, datetime.timezone(datetime.timedelta(hours=1)))
        self.assertEqual(values.timestamp_utc_of(values.micros_of(moment)), moment)
        self.assertEqual(values.timestamp_of(-1), datetime.datetime(1969, 12, 31, 23, 59, 59, 999999))
        self.assertEqual(values.time_of(49_500_500_000), datetime.time(13, 45, 0, 500_000))
        self.assertEqual(values.minor_of("-12.5", 2), -1250)
        self.assertEqual(str(values.decimal_of(-5, 2)), "-0.05")
        self.assertEqual(values.minor_of("1e3", 0), 1000)
        for wrong in ["0.001", "lamp", "NaN", "1e999999"]:
            with self.assertRaises(ValueError):
                values.minor_of(wrong, 2)


class Requests(unittest.TestCase):
    def test_a_busy_server_is_asked_again_when_it_says(self) -> None:
        dates = {"retry_after": "Wed, 21 Oct 2026 07:28:07 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"}
        host = told(busy(retry_after="2"), busy(503, **dates), Response(body="here"))
        self.assertEqual(http.get("http://a.test/", retries=2).text(), "here")
        self.assertEqual(host.slept, [2_000, 7_000])

    def test_without_a_time_to_come_back_at_the_waits_grow(self) -> None:
        # A year that no date has says nothing, either.
        host = told(busy(503), busy(503, retry_after=f"21 Oct {10**20} 07:28:07 GMT"), busy(503), Response())
        http.get("http://a.test/", retries=3)
        for slept, longest in zip(host.slept, [500, 1_000, 2_000], strict=True):
            self.assertTrue(longest / 2 <= slept <= longest, host.slept)

    def test_a_server_that_stays_busy_is_the_error_rate_limited(self) -> None:
        told(busy(), busy(retry_after="3"))
        with self.assertRaises(PluginError) as raised:
            http.get("http://a.test/", retries=1)
        error = raised.exception
        self.assertEqual((error.kind, error.retry_after_ms, error.code), ("rate-limited", 3_000, "429"))
        host = told(busy(retry_after="600"))
        with self.assertRaisesRegex(PluginError, "busy"):
            http.get("http://a.test/", retries=9)
        self.assertEqual(host.slept, [], "longer than the call may take")
        told(busy())
        self.assertEqual(http.get("http://a.test/").status, 429, "without retries a status is no error")

    def test_a_server_that_says_in_its_answer_that_it_is_busy_is_asked_again(self) -> None:
        host = told(Response(body='{"busy": 2000}'), Response(body='{"rows": []}'))

        def ask() -> object:
            answer = http.get("http://a.test/").json()
            if "busy" in answer:
                raise PluginError("rate-limited", "busy", retry_after_ms=answer["busy"])
            return answer

        self.assertEqual(http.retry(ask), {"rows": []})
        self.assertEqual(host.slept, [2_000])
        told(Response(body='{"busy": 600000}'))
        with self.assertRaisesRegex(PluginError, "600.0 s at the earliest"):
            http.retry(ask)
        told(*(Response(body='{"busy": 1}') for _ in range(2)))
        with self.assertRaisesRegex(PluginError, "^busy$"):
            http.retry(ask, retries=1)

    def test_pages_follow_links_cursors_and_bodies(self) -> None:
        def linked(url: str) -> Response:
            return Response(headers=[("Link", f'<x>; rel="prev", <{url}>; rel="next"')], body="[1]")

        host = told(linked("/b?page=2"), linked("?page=3"), linked("c"), Response(body="[4]"))
        self.assertEqual(len(list(http.pages("http://a.test/b?page=1"))), 4)
        paths = [request.url.removeprefix("http://a.test") for request in host.requests]
        self.assertEqual(paths, ["/b?page=1", "/b?page=2", "/b?page=3", "/c"])

        host = told(Response(body='{"cursor": "x y"}'), Response(body='{"cursor": null}'))
        url = "http://a.test/q?a=1&cursor=0"
        pages = http.pages(url, next=lambda page, _: page["cursor"] and http.with_query(url, cursor=page["cursor"]))
        self.assertEqual(len(list(pages)), 2)
        self.assertEqual(host.requests[1].url, "http://a.test/q?a=1&cursor=x+y")

        host = told(Response(body='{"after": 1}'), Response(body="{}"))
        pages = http.pages(
            "http://a.test/graphql",
            method="POST",
            body="{}",
            next=lambda page, _: {"body": '{"after": 1}'} if "after" in page else None,
        )
        self.assertEqual(len(list(pages)), 2)
        self.assertEqual([request.body for request in host.requests], [b"{}", b'{"after": 1}'])

    def test_pages_in_a_circle_and_refused_pages_are_errors(self) -> None:
        after = {"/": "b", "/b": "c", "/c": "d", "/d": "b"}
        host = stand_in(
            lambda request: Response(
                headers=[("link", f"<{after[request.url.removeprefix('http://a.test')]}>; rel=next")], body="[]"
            )
        )
        with self.assertRaisesRegex(PluginError, "circle"):
            list(http.pages("http://a.test/"))
        self.assertLess(len(host.requests), 12)
        told(busy(401))
        with self.assertRaises(PluginError) as raised:
            list(http.pages("http://a.test/"))
        self.assertEqual((raised.exception.kind, raised.exception.code), ("auth", "401"))

    def test_server_sent_events_come_as_their_data(self) -> None:
        def events(body: str, limit: int = 4 << 20) -> list[str]:
            told(Response(body=body))
            return list(http.get("http://x/").events(limit))

        self.assertEqual(events('data: {"a":1}\n\ndata: [DONE]\n\n'), ['{"a":1}', "[DONE]"])
        self.assertEqual(events(": open\r\n\r\nevent: x\r\ndata:1\r\nid: 7\r\n\r\n"), ["1"])
        self.assertEqual(events("\ufeffdata: a\ndata\ndata:  b\n\ndata:\n\n"), ["a\n\n b"])
        self.assertEqual(events("database: 1\n\ndata: no last line"), ["no last line"])
        with self.assertRaises(PluginError) as raised:
            events("data: abc\ndata: def\n\n", 5)
        self.assertEqual(raised.exception.kind, "too-large")

    def test_numbers_keep_their_digits(self) -> None:
        told(Response(body='{"id": 9007199254740993, "sum": 0.1234567890123456789}'))
        parsed = http.get("http://a.test/").json(exact=True)
        self.assertEqual(parsed, {"id": 2**53 + 1, "sum": decimal.Decimal("0.1234567890123456789")})


class Control(unittest.TestCase):
    def test_a_wait_ends_with_the_call(self) -> None:
        host = stand_in(time_limit_ms=1_000)
        control.sleep(0.4)
        self.assertEqual(control.remaining_ms(), 600)
        for kind in ["timeout", "cancelled"]:
            with self.assertRaises(PluginError) as raised:
                control.sleep(0.7 if kind == "timeout" else 0.001)
            self.assertEqual(raised.exception.kind, kind)
            host.cancelled = True

    def test_log_lines_are_lines(self) -> None:
        host = stand_in()
        log.warn("one\ntwo")
        self.assertEqual(host.logged, [("warn", "one"), ("warn", "two")])


class Errors(unittest.TestCase):
    def test_a_kind_is_one_of_the_contract(self) -> None:
        kind: Any = "oops"
        with self.assertRaisesRegex(ValueError, "no kind 'oops'; use one of invalid-config, auth, .*it broke"):
            PluginError(kind, "it broke")
        self.assertEqual(PluginError("tls", "it broke").kind, "tls")


class Opened(unittest.TestCase):
    def test_a_scanner_gets_the_filters_that_it_takes(self) -> None:
        class Numbers(Scanner):
            def describe(self, table: Any) -> Table:
                return Table([Column("n", "int64"), Column("day", "date")])

            def filter_support(self, table: Any, asked: Filter) -> Any:
                return "exact" if asked.op == "eq" else "no"

            def scan(self, table: Any, asked: Any) -> Any:
                assert [one.op for one in asked.filters] == ["eq"]
                yield from ({"n": n, "day": "2024-02-29"} for n in range(5))

        stand_in()
        filters = [Filter("n", "eq", [1]), Filter("n", "lt", [2])]
        scanned = open_plugin(Numbers, {}).scan("numbers", columns=["day"], filters=filters)
        self.assertEqual(scanned, [{"day": datetime.date(2024, 2, 29)}] * 5)

    def test_a_row_of_another_length_is_an_error(self) -> None:
        class Short(Connector):
            def query(self, statement: Any) -> Any:
                return [Column("a"), Column("b")], [(1,)]

        stand_in()
        with self.assertRaisesRegex(PluginError, "a row has 1 values for 2 columns"):
            open_plugin(Short, {}).query("select 1")

    def test_what_is_no_row_does_not_end_the_rows(self) -> None:
        for wrong, name in [(None, "NoneType"), ("ab", "str"), (5, "int")]:
            for given in [[wrong, (1, 2)], [(1, 2), wrong, wrong, (3, 4)]]:
                answer = rows.Answer([Column("a"), Column("b")], given)
                with self.assertRaisesRegex(PluginError, f"a row is a Python {name}, and neither"):
                    while answer.next(10, 1 << 20):
                        pass
        some = rows.Answer([Column("a"), Column("b")], [range(2), {"b": 1}])
        self.assertEqual(len(some.next(10, 1 << 20)), 2)


def said(*events: Any) -> Said:
    """The answer of a model that yields these."""

    class Parrot(Model):
        def complete(self, request: Any) -> Any:
            yield from events

    stand_in()
    return open_plugin(Parrot, {}).complete("Hello")


END = {"stop": "end"}


class Events(unittest.TestCase):
    """What a model yields is checked as a component checks it."""

    def test_a_test_sees_the_single_events(self) -> None:
        told = said(None, {"text": "a"}, {"text": "b"}, {"usage": {"input": 1, "cached-input": 0}}, END)
        usage = {"input": 1, "cached_input": 0}
        end = {"stop": "end", "reason": "end"}
        self.assertEqual(told.events, [{"text": "a"}, {"text": "b"}, {"usage": usage}, end])
        self.assertEqual((told.text, told.usage, told.stop), ("ab", usage, "end"))

    def test_a_pair_that_was_cut_between_two_events_is_joined(self) -> None:
        for pieces, expected in [
            (["a\ud83d", "\ude00b"], ["a", "\U0001f600b"]),
            (["\ud83d", "\ude00"], ["\U0001f600"]),
            (["\ud83d", "x"], ["\ufffdx"]),
            (["a\ud83d"], ["a", "\ufffd"]),
            (["\ude00", "\ud83d\ude00"], ["\ufffd", "\U0001f600"]),
        ]:
            told = said(*[{"text": piece} for piece in pieces], END)
            self.assertEqual([event["text"] for event in told.events if "text" in event], expected, pieces)
        told = said({"text": "\ud83d"}, {"usage": {"input": 1}}, {"text": "\ude00"}, END)
        self.assertEqual(told.text, "\U0001f600", "other events do not end a text")

    def test_events_that_the_host_does_not_know_are_errors(self) -> None:
        call = {"id": "1", "name": "lookup"}
        for event, message in [
            ({"usage": {"total": 1}}, "'total'"),
            ({"usage": {"input": None}}, "usage.input"),
            ({"stop": "done"}, "'done'"),
            ({"tool_call": call}, "`tool_call` has no `arguments`"),
            ({"tool_call": {**call, "arguments": {}}}, "`tool_call.arguments` must be a text"),
            ({"text": None}, "`text` must be a text"),
            ({"text": "a", "stop": "end"}, "an event has one of"),
            ("a", "yields a Python str"),
        ]:
            with self.assertRaisesRegex(PluginError, message) as raised:
                said(event, END)
            self.assertEqual(raised.exception.kind, "internal")
        with self.assertRaisesRegex(PluginError, "`text` after its stop event"):
            said(END, {"text": "late"})
        with self.assertRaises(PluginError) as raised:
            said({"text": "a"})
        self.assertEqual(raised.exception.kind, "connection-lost")


class Texts(unittest.TestCase):
    """What is no Unicode text is made one before the host sees it."""

    def test_halves_of_pairs_are_joined_or_replaced(self) -> None:
        for text, expected in [
            ("plain", "plain"),
            ("caf\u00e9 \U0001f600", "caf\u00e9 \U0001f600"),
            ("\ud83d\ude00", "\U0001f600"),
            ("\ude00\ud83d", "\ufffd\ufffd"),
            ("a\ud83db", "a\ufffdb"),
            ("\ud83d\ud83d\ude00", "\ufffd\U0001f600"),
        ]:
            self.assertEqual(texts.well_formed(text), expected)

    def test_every_text_that_leaves_is_well_formed(self) -> None:
        half = "a\ud83d"

        class Halves(Connector):
            def query(self, statement: Any) -> Any:
                log.info(half)
                print(half)
                http.get(f"http://a.test/{half}", headers={"x-half": half})
                return [Column(half), Column("j", "json")], [(half, {"k": half})]

        host = told(Response())
        with host:
            answer = open_plugin(Halves, {}).query("select 1")
        self.assertEqual((answer.columns, answer.rows), (["a\ufffd", "j"], [["a\ufffd", '{"k": "a\ufffd"}']]))
        self.assertEqual(host.logged[0], ("info", "a\ufffd"))
        self.assertEqual(host.requests[0].url, "http://a.test/a\ufffd")
        self.assertEqual(host.requests[0].headers, [("x-half", "a\ufffd")])
        error = PluginError("upstream", half, code=half)
        self.assertEqual((error.message, str(error), error.code), ("a\ufffd",) * 3)

    def test_json_with_too_many_levels_is_an_error(self) -> None:
        for text in ["[" * 501 + "]" * 501, "[" * 100_000, '{"a":' * 501, '["\\\\",' * 501]:
            with self.assertRaises(RecursionError):
                texts.loads(text)
        for text in ["[" * 500 + "]" * 500, json.dumps(["[" * 1000, '\\"[{' * 1000]), json.dumps([[{}]] * 5000)]:
            self.assertEqual(texts.loads(text), json.loads(text))
        told(Response(body="[" * 100_000))
        with self.assertRaisesRegex(PluginError, "levels") as raised:
            http.get("http://a.test/").json()
        self.assertEqual(raised.exception.kind, "upstream")


class Pace(unittest.TestCase):
    """Rows that come slowly do not wait until a batch is full."""

    def batches(self, slow: Any, count: int = 100) -> list[int]:
        clock = [0.0]

        def given() -> Any:
            for n in range(count):
                clock[0] += slow(n)
                yield (n,)

        with mock.patch("time.monotonic", lambda: clock[0]):
            answer = rows.Answer([Column("n", "int64")], given())
            batches = []
            while (batch := answer.next(8_192, 1 << 20)) is not None:
                batches.append(len(batch))
        return batches

    def test_pages_of_a_slow_server_are_given_as_they_come(self) -> None:
        host = told(*[Response() for _ in range(4)])

        def page(n: int) -> float:
            if n % 25:
                return 0
            http.get("http://a.test/").text()
            return 0.3

        self.assertEqual(self.batches(page), [26, 25, 25, 24])
        self.assertEqual(len(host.requests), 4)

    def test_a_slow_generator_gives_rows_soon_and_a_fast_one_whole_batches(self) -> None:
        self.assertLessEqual(self.batches(lambda n: 0.05)[0], 8)
        self.assertEqual(self.batches(lambda n: 0.00001, 10_000), [8_192, 1_808])


class Printed(unittest.TestCase):
    def test_print_and_logging_are_in_the_log_and_end_with_the_block(self) -> None:
        with stand_in():
            """Ends what tests before have installed."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out), stand_in() as host:
            print("one\ntwo")
            print("half", end="")
            print(" a line")
            with contextlib.redirect_stderr(io.StringIO()):
                stand = stand_in()
                print("odd", file=sys.stderr)
            logging.getLogger("items").info("%d details", 2)
            logging.getLogger("items").debug("nobody asked")
            logging.getLogger("items").error("bad")
        self.assertEqual(host.logged, [("info", "one"), ("info", "two"), ("info", "half a line")])
        self.assertEqual(stand.logged, [("warn", "odd"), ("info", "items: 2 details"), ("error", "items: bad")])
        self.assertEqual(out.getvalue(), "one\ntwo\nhalf a line\n", "and it is printed")
        handlers = [type(one).__name__ for one in logging.getLogger().handlers]
        self.assertEqual(handlers, [], "the handlers are gone")
        self.assertNotEqual(type(sys.stdout).__name__, "Lines")


class Streams(unittest.TestCase):
    def test_a_body_comes_in_pieces_and_breaks(self) -> None:
        silent = PluginError("timeout", "the answer fell silent")
        told(Response(body=["data: a\n", b"\ndata: \xc3", b"\xa9\n\n", silent]))
        events = http.get("http://a.test/").events()
        self.assertEqual([next(events), next(events)], ["a", "\u00e9"])
        with self.assertRaisesRegex(PluginError, "silent"):
            next(events)


    def test_json_values_come_one_by_one_however_the_body_is_cut(self) -> None:
        quoted = {"a": '}\\"'}
        first = json.dumps(quoted)
        for body, expected in (
            (first + '\r\n\n[1,{"b":[]}]\n2', [quoted, 1, {"b": []}, 2]),
            (first + '{"x":[3]}4 "five, [6]"', [quoted, {"x": [3]}, 4, "five, [6]"]),
            ("[" + first + ',\n{"x":[3]}\n,7,"e\u0301" ]', [quoted, {"x": [3]}, 7, "e\u0301"]),
        ):
            data = body.encode()
            for at in range(len(data) + 1):
                told(Response(body=[data[:at], data[at:]]))
                self.assertEqual(list(http.get("http://a.test/").json_stream()), expected, (body, at))
        for body, kind in (
            ('{"a": 1', "connection-lost"),
            ('[{"a": 1},', "connection-lost"),
            ("{a: 1}", "upstream"),
            ('"' + "x" * 9, "too-large"),
            ('"' + "x" * 9 + '" 1', "too-large"),
        ):
            told(Response(body=body))
            with self.assertRaises(PluginError) as caught:
                list(http.get("http://a.test/").json_stream(8))
            self.assertEqual(caught.exception.kind, kind, body)

    def test_an_array_at_the_top_is_opened_unless_lines_are_asked_for(self) -> None:
        for body, lines, expected in (
            ("[[1,2],[3,4]]", False, [[1, 2], [3, 4]]),
            ("[[1,2],[3,4]]", True, [[[1, 2], [3, 4]]]),
            ("[1,2]\n[3]\r\n[]\n7", True, [[1, 2], [3], [], 7]),
            ("[] [1][ ]\n[[]]", False, [1, []]),
        ):
            told(Response(body=body))
            self.assertEqual(list(http.get("http://a.test/").json_stream(lines=lines)), expected, body)

    def test_what_is_not_json_is_an_error_with_its_byte_after_the_values_before_it(self) -> None:
        for body, message, count, lines in (
            ("[1,]", "at byte 4: expected a value", 1, False),
            ("[1 2]", "at byte 4: expected `,` or `]`", 1, False),
            ('["a" "b"]', "at byte 6: expected `,` or `]`", 1, False),
            ("[,1]", "at byte 2: expected a value or `]`", 0, False),
            ("1, 2", "at byte 2: expected a value", 1, False),
            ("{}\n]", "at byte 4: expected a value", 1, False),
            ("[1] 2 tru", "the value at byte 7 cannot be read", 2, False),
            ("[1, {]}]", "the value at byte 5 cannot be read", 1, False),
            ("<html>", "the value at byte 1 cannot be read", 0, False),
            ("[1,]", "the value at byte 1 cannot be read", 0, True),
        ):
            for at in range(len(body) + 1):
                told(Response(body=[body[:at], body[at:]]))
                found = []
                with self.assertRaises(PluginError) as caught:
                    for value in http.get("http://a.test/").json_stream(lines=lines):
                        found.append(value)
                self.assertEqual(caught.exception.kind, "upstream", body)
                self.assertTrue(caught.exception.message.endswith(message), (body, caught.exception.message))
                self.assertEqual(len(found), count, (body, at))


class Builds(unittest.TestCase):
    """What a build can tell before it begins."""

    def told(self, **files: str) -> str:
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                (pathlib.Path(folder) / f"{name}.py").write_text(text)
            os.chdir(folder)
            try:
                build.check_sources()
            except build.Wrong as error:
                return str(error)
            finally:
                os.chdir(before)
        return ""

    def test_mistakes_in_the_sources_are_three_lines(self) -> None:
        plugin = "from lib import x\nclass Plugin:\n    pass\n"
        self.assertEqual(self.told(plugin=plugin, lib="x = 1\n"), "")
        wrong = self.told(plugin=plugin, lib="for x in y\n    pass\n")
        self.assertEqual(wrong, "lib.py:1:11\n  for x in y\n            ^ expected ':'")
        wrong = self.told(plugin="class Plugin:\n    pass\nreturn 1\n")
        self.assertEqual(wrong, "plugin.py:3:1\n  return 1\n  ^ 'return' outside function")

    def test_a_module_without_the_class_is_named(self) -> None:
        self.assertEqual(self.told(plugin="class Plug: pass\n"), "plugin.py has no class `Plugin`")
        for source in ["from own import Plugin\n", "from own import *\n", "Plugin = type('P', (), {})\n"]:
            self.assertEqual(self.told(plugin=source, own="Plugin = object\n"), "")

    def test_an_import_that_finds_nothing_is_told_before_the_build(self) -> None:
        plugin = "class Plugin:\n    pass\n"
        wrong = self.told(plugin=f"import os, no_such_package\n{plugin}")
        self.assertTrue(wrong.startswith("plugin.py:1:1\n  import os, no_such_package\n  ^ there is no module"), wrong)
        wrong = self.told(plugin=f"from mindhost import Scaner\n{plugin}")
        self.assertTrue(wrong.endswith("^ `mindhost` has no `Scaner`; did you mean `Scanner`?"), wrong)
        for source in [
            "try:\n    import no_such_package\nexcept ImportError:\n    pass\n",
            "import own.part, wit_world, annotationlib\nfrom mindhost import http, testing\n",
        ]:
            self.assertEqual(self.told(plugin=source + plugin, own=""), "")

    def test_syntax_of_a_newer_python_is_left_to_the_build(self) -> None:
        self.assertEqual(self.told(plugin="class Plugin: pass\ntype X = int\ndef f[T](x: T): ...\n"), "")

    def test_packages_of_the_machine_are_not_taken(self) -> None:
        with mock.patch.object(sys, "prefix", "/usr"), mock.patch.object(sys, "base_prefix", "/usr"):
            self.assertEqual(build.packages(), [])


class Defaults(unittest.TestCase):
    def test_a_test_has_the_defaults_of_the_manifest(self) -> None:
        class Own(Model):
            pass

        manifest = {"connection_data": {"properties": {
            "model": {"default": "parrot-1"}, "more": {"properties": {"n": {"default": 1}}}, "none": {}
        }}}  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "manifest.json").write_text(json.dumps(manifest))
            with mock.patch.object(sys.modules[__name__], "__file__", f"{folder}/plugin.py"):
                given = {"more": {}}
                self.assertEqual(open_plugin(Own, given).config, {"more": {"n": 1}, "model": "parrot-1"})
                self.assertEqual(open_plugin(Own, {"model": "x"}).config, {"model": "x"})
        self.assertEqual(given, {"more": {}})


class Reference(unittest.TestCase):
    """What the reference lists under `mindhost` is there, and the other way round."""

    def test_tests_of_one_run_record_into_one_file(self) -> None:
        class Server(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.end_headers()
                self.wfile.write(f"at {self.path}".encode())

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "fixtures.json"
            servers = {"http://a.test": f"http://127.0.0.1:{server.server_port}"}
            for path in ("/one", "/two"):
                os.environ["RECORD_HTTP"] = "1"
                replay(file, servers=servers)
                del os.environ["RECORD_HTTP"]
                self.assertEqual(http.get(f"http://a.test{path}").text(), f"at {path}")
            for path in ("/two", "/one"):
                replay(file)
                self.assertEqual(http.get(f"http://a.test{path}").text(), f"at {path}")
        server.shutdown()
        server.server_close()

    def test_every_name_can_be_imported(self) -> None:
        reference = pathlib.Path(mindhost.__file__).parents[2] / "docs/reference-python.md"
        of_mindhost = reference.read_text().split("\n## ")[1]
        listed = set(re.findall(r"^### `(\w+)`", of_mindhost, re.MULTILINE))
        exported = {name for name in mindhost.__all__ if not inspect.ismodule(getattr(mindhost, name))}
        self.assertEqual(listed, exported)


if __name__ == "__main__":
    unittest.main()
