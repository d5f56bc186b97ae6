"""A REST API to try the plugin with: a shop with a few customers and orders.

    GET /customers   a page of customers; the header `Link` has the URL of the next page
    GET /orders      a page of orders, of one `status` if it is given; `next` has the cursor for `after`

`limit` is the number of rows of a page: 25 at most, and by default. The API is busy when a page after the first is
asked for the first time: 429, with no second to wait.

`python3 server.py` serves at http://127.0.0.1:8123. With a command as arguments it takes a free port, runs the command
with `{url}` replaced in its arguments, and ends with it.
"""

import datetime
import sys
import urllib.parse

import loopback

MOST = 25
START = datetime.datetime(2024, 1, 1, 9, 30)
CUSTOMERS = [
    {
        "id": number,
        "name": f"Customer {number}",
        "email": None if number % 4 == 0 else f"customer{number}@example.com",
        "since": str(START.date() + datetime.timedelta(days=number)),
    }
    for number in range(1, 31)
]
ORDERS = [
    {
        "id": 1000 + number,
        "customer_id": 1 + number * 7 % 30,
        "status": ["paid", "open", "paid", "cancelled"][number % 4],
        # Text, which keeps every digit.
        "total": f"{number * 37 % 400}.{number * 13 % 100:02}",
        "placed_at": (START + datetime.timedelta(hours=5 * number)).isoformat() + "Z",
    }
    for number in range(60)
]
# The pages that were asked for before.
known = set()


class Shop(loopback.Handler):
    def do_GET(self):
        path, _, query = self.path.partition("?")
        asked = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        limit = min(int(asked.get("limit", MOST)), MOST)
        if not self.allowed():
            return None
        if "after" in asked and self.path not in known:
            known.add(self.path)
            return self.answer(429, {"error": "too many requests"}, [("retry-after", "0")])
        after = int(asked.get("after", 0))
        if path == "/customers":
            page, following = cut(CUSTOMERS, after, limit)
            link = f'</customers?limit={limit}&after={following}>; rel="next"'
            return self.answer(200, {"customers": page}, [("link", link)] if following else [])
        if path == "/orders":
            status = asked.get("status")
            page, following = cut([own for own in ORDERS if status in (None, own["status"])], after, limit)
            return self.answer(200, {"orders": page, "next": following})
        return self.answer(404, {"error": "there is no such path"})


def cut(rows, after, limit):
    """A page of rows whose ids are above `after`, and the last id where more follow."""
    rest = [row for row in rows if row["id"] > after]
    page = rest[:limit]
    return page, str(page[-1]["id"]) if len(rest) > limit else None


sys.exit(loopback.serve_http(Shop))
