"""Unit tests without a server: `python3 -m unittest`. What the engine answers is in fixtures.json; to record it again:

    python3 server.py env ENGINE={url} RECORD_HTTP=1 python3 -m unittest
"""

import os
import unittest
from pathlib import Path

from mindhost import PluginError
from mindhost.testing import open_plugin, replay
from plugin import Plugin

CONFIG = {"url": "http://engine.test"}
HOST = replay(
    Path(__file__).with_name("fixtures.json"),
    # What the host adds on a server: it is never written into the fixtures.
    headers={"authorization": "Bearer open sesame"},
    servers={CONFIG["url"]: os.environ.get("ENGINE")},
)


class Engine(unittest.TestCase):
    def test_a_statement_gives_its_columns_and_rows(self) -> None:
        result = open_plugin(Plugin, CONFIG).query("select name, gravity from planets order by name limit 2")
        self.assertEqual(result.columns, ["name", "gravity"])
        self.assertEqual(result.rows, [["Earth", 9.8], ["Jupiter", 23.1]])
        self.assertIn(("x-timeout-ms", "60000"), HOST.requests[-1].headers)

    def test_what_the_engine_refuses_is_an_error_in_its_own_words(self) -> None:
        engine = open_plugin(Plugin, CONFIG)
        with self.assertRaisesRegex(PluginError, "no such table: nowhere") as raised:
            engine.query("select name from nowhere")
        self.assertEqual((raised.exception.kind, raised.exception.code), ("invalid-statement", "400"))


if __name__ == "__main__":
    unittest.main()
