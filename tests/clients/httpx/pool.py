"""The connection pool of httpx, or of httpx2 where that is installed, at a rate limit: <url> <key>

Head and body of a request go out one after the other, so a refusal may come between them. Whatever is refused, the next
request on the connection is innocent.
"""

import sys

try:
    import httpx2 as httpx
except ModuleNotFoundError:
    import httpx

url, key = sys.argv[1:]
seen = set()
with httpx.Client(base_url=url, headers={"authorization": f"Bearer {key}"}, timeout=30) as client:
    for _ in range(100):
        refused = client.post("/api/v1/conversations", json={"metadata": {"note": "x" * 100}})
        seen.add(refused.status_code)
        assert client.get("/healthz").status_code == 200
assert seen == {200, 429}, seen
print("ok")
