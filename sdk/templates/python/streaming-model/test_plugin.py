"""Unit tests without a server: `python3 -m unittest`. answer.txt is an answer as the vendor streams it."""

import json
import unittest
from pathlib import Path

from mindhost import Message, PluginError, Request, Text, Tool, ToolCall, ToolResult
from mindhost.testing import Body, Opened, Response, StandIn, open_plugin, stand_in
from plugin import Plugin

ANSWER = Path(__file__).with_name("answer.txt").read_text(encoding="utf-8")


def vendor() -> Opened:
    return open_plugin(Plugin, {"base_url": "http://vendor.test/v1/", "model": "parrot-1"})


def answers(body: Body, status: int = 200, **headers: str) -> StandIn:
    told = Response(status, [(name.replace("_", "-"), value) for name, value in headers.items()], body)
    return stand_in(lambda request: told)


class Vendor(unittest.TestCase):
    def test_an_answer_gives_its_text_its_calls_of_tools_and_the_tokens_that_it_used(self) -> None:
        host = answers(ANSWER)
        answer = vendor().complete("How many cafés are open?")
        self.assertEqual(answer.text, "Two cafés, “open”.")
        calls = [
            {"id": "call_1", "name": "run_sql", "arguments": '{"sql": "SELECT 1"}'},
            {"id": "call_2", "name": "tables", "arguments": "{}"},
        ]
        self.assertEqual(answer.tool_calls, calls)
        self.assertEqual(answer.usage, {"input": 12, "output": 9})
        self.assertEqual(answer.stop, "tool-calls")
        self.assertEqual(host.requests[0].url, "http://vendor.test/v1/chat/completions")

    def test_each_piece_is_said_as_soon_as_it_is_there(self) -> None:
        silent = PluginError("timeout", "the answer fell silent for 60 s")
        answers([*(f"{line}\n" for line in ANSWER.splitlines()[:8]), silent])
        events = Plugin({"base_url": "http://vendor.test/v1", "model": "parrot-1"}).complete(Request())
        self.assertIsNone(next(events), "the vendor accepted")
        self.assertIn("text", next(events) or {})
        with self.assertRaises(PluginError) as raised:
            list(events)
        self.assertEqual(raised.exception.kind, "timeout")

    def test_a_conversation_is_sent_as_the_vendor_wants_it(self) -> None:
        host = answers(ANSWER)
        conversation = Request(
            messages=[
                Message("system", [Text("Be short.")]),
                Message("assistant", [ToolCall("call_1", "run_sql", "{}")]),
                Message("tool", [ToolResult("call_1", "[[1]]")]),
            ],
            tools=[Tool("run_sql", "Runs SQL.", '{"type": "object"}')],
            tool_choice="run_sql",
            temperature=0.5,
        )
        vendor().complete(conversation)
        function = {"name": "run_sql", "arguments": "{}"}
        described = {"name": "run_sql", "description": "Runs SQL.", "parameters": {"type": "object"}}
        expected = {
            "model": "parrot-1",
            "messages": [
                {"role": "system", "content": "Be short."},
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
                },
                {"role": "tool", "tool_call_id": "call_1", "content": "[[1]]"},
            ],
            "tools": [{"type": "function", "function": described}],
            "tool_choice": {"type": "function", "function": {"name": "run_sql"}},
            "temperature": 0.5,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        self.assertEqual(json.loads(host.requests[0].body), expected)

    def test_an_answer_without_its_end_is_the_error_connection_lost(self) -> None:
        half, _ = ANSWER.split('data: {"choices": [{"index": 0, "delta": {}')
        answers(half)
        with self.assertRaises(PluginError) as raised:
            vendor().complete("Hello")
        self.assertEqual(raised.exception.kind, "connection-lost")

    def test_a_refusal_has_its_kind_the_vendors_words_and_the_time_to_come_back_at(self) -> None:
        answers('{"error": {"message": "slow down"}}', 429, retry_after="7")
        with self.assertRaisesRegex(PluginError, "slow down") as raised:
            vendor().complete("Hello")
        self.assertEqual((raised.exception.kind, raised.exception.retry_after_ms), ("rate-limited", 7000))

    def test_a_check_needs_the_model_in_the_vendors_list(self) -> None:
        answers('{"data": [{"id": "parrot-2"}]}')
        own = Plugin({"base_url": "http://vendor.test/v1", "model": "parrot-1"})
        self.assertEqual(own.models(), ["parrot-2"])
        with self.assertRaises(PluginError) as raised:
            own.check()
        self.assertEqual(raised.exception.kind, "not-found")


if __name__ == "__main__":
    unittest.main()
