"""Unit tests without a server: `python3 -m unittest`."""

import unittest

from mindhost import Message, PluginError, Request
from mindhost.testing import open_plugin, stand_in
from plugin import Plugin

CONFIG = {"greeting": "You asked"}


class Echo(unittest.TestCase):
    def setUp(self) -> None:
        stand_in()

    def test_the_question_comes_back_after_the_greeting(self) -> None:
        answer = open_plugin(Plugin, CONFIG).complete("Is anybody there?")
        self.assertEqual((answer.text, answer.stop), ("You asked: Is anybody there?", "end"))

    def test_a_request_without_text_is_refused(self) -> None:
        silent = Request(messages=[Message("user", [])])
        with self.assertRaises(PluginError) as raised:
            open_plugin(Plugin, CONFIG).complete(silent)
        self.assertEqual(raised.exception.kind, "unsupported")


if __name__ == "__main__":
    unittest.main()
