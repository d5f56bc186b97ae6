"""Unit tests without a server: `python3 -m unittest`. What the API answers is in fixtures.json; to record it again:

    python3 server.py env API={url} RECORD_HTTP=1 python3 -m unittest
"""

import os
import unittest
from datetime import datetime, timezone
from pathlib import Path

from mindhost import Filter, PluginError
from mindhost.testing import Response, open_plugin, replay, stand_in
from plugin import Plugin

CONFIG = {"url": "http://shop.test"}


class Shop(unittest.TestCase):
    def test_pages_are_read_one_after_another_and_asked_for_again_where_the_api_is_busy(self) -> None:
        host = replay(
            Path(__file__).with_name("fixtures.json"),
            # What the host adds on a server: it is never written into the fixtures.
            headers={"authorization": "Bearer open sesame"},
            servers={CONFIG["url"]: os.environ.get("API")},
        )
        shop = open_plugin(Plugin, CONFIG)
        orders = shop.scan("orders")
        self.assertEqual(len(orders), 60)
        last = {
            "id": 1059,
            "customer_id": 24,
            "status": "cancelled",
            "total": "183.67",
            "placed_at": datetime(2024, 1, 13, 16, 30, tzinfo=timezone.utc),
        }
        self.assertEqual(orders[-1], last)
        self.assertEqual(host.slept, [0, 0])
        self.assertEqual(len(shop.scan("customers", columns=["id"])), 30)

        filters = [Filter("status", "eq", ["cancelled"])]
        cancelled = shop.scan("orders", columns=["id"], filters=filters, limit=3)
        self.assertEqual(cancelled, [{"id": 1003}, {"id": 1007}, {"id": 1011}])
        self.assertEqual(host.requests[-1].url, "http://shop.test/orders?status=cancelled&limit=3")

    def test_a_token_that_the_api_refuses_is_an_error_of_the_kind_auth(self) -> None:
        stand_in(lambda request: Response(401))
        with self.assertRaises(PluginError) as raised:
            open_plugin(Plugin, CONFIG).scan("orders")
        self.assertEqual(raised.exception.kind, "auth")

    def test_a_page_of_another_form_is_an_error_that_says_so(self) -> None:
        stand_in(lambda request: Response(body="[]"))
        with self.assertRaisesRegex(PluginError, "without customers") as raised:
            open_plugin(Plugin, CONFIG).scan("orders")
        self.assertEqual(raised.exception.kind, "upstream")


if __name__ == "__main__":
    unittest.main()
