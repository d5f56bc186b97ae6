"""Unit tests without a server: `python3 -m unittest`."""

import datetime
import unittest

from mindhost import PluginError
from mindhost.testing import open_plugin, stand_in
from plugin import Plugin


class Planets(unittest.TestCase):
    def setUp(self) -> None:
        stand_in()

    def test_the_rows_of_the_file_have_the_types_of_the_columns(self) -> None:
        rows = open_plugin(Plugin, {"path": "planets.jsonl"}).scan("planets", columns=["name", "discovered"])
        self.assertEqual(len(rows), 8)
        self.assertEqual(rows[-1], {"name": "Neptune", "discovered": datetime.date(1846, 9, 23)})

    def test_a_file_that_is_not_there_is_an_error_that_names_it(self) -> None:
        missing = open_plugin(Plugin, {"path": "nowhere.jsonl"})
        with self.assertRaisesRegex(PluginError, "nowhere.jsonl") as raised:
            missing.scan("planets")
        self.assertEqual(raised.exception.kind, "not-found")


if __name__ == "__main__":
    unittest.main()
