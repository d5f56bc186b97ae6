"""Uses the Minds of a running host through the `mcp` client for Python, unchanged.

Arguments: the URL of /mcp, a key, the name of a Mind that allows SQL over a table `item` (id, name) of three rows, and
the text that its scripted model answers with. Prints "ok".
"""

import asyncio
import sys

from mcp import Client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

url, key, mind, answer = sys.argv[1:]


def connect(mode="auto"):
    http = create_mcp_http_client(headers={"Authorization": f"Bearer {key}"})
    return Client(streamable_http_client(url, http_client=http), mode=mode)


async def call(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result
    return result.structured_content


async def main():
    async with connect() as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert names == {"list_minds", "describe_tables", "ask", "run_sql", "read_page"}, names
        minds = await call(client, "list_minds")
        assert minds == {"minds": [{"name": mind, "datasources": ["shop"], "allows_sql": True}]}, minds
        found = await call(client, "describe_tables", mind=mind)
        assert [table["table"] for table in found["tables"]] == ["main.item"], found
        described = await call(client, "describe_tables", mind=mind, tables=["main.item"])
        assert [column["name"] for column in described["tables"][0]["columns"]] == ["id", "name"], described

        told = await call(client, "ask", mind=mind, question="How many?")
        assert told["answer"] == answer, told
        again = await call(client, "ask", mind=mind, question="Sure?", conversation=told["conversation"])
        assert again["conversation"] == told["conversation"], again

        given = await call(client, "run_sql", mind=mind, sql="SELECT id, name FROM item ORDER BY id", max_rows=2)
        assert given["rows"] == [[1, "a"], [2, "b"]], given
        assert (given["total"], given["has_more"]) == (3, True), given
        place = {"conversation": given["conversation"], "message": given["message"]}
        page = await call(client, "read_page", **place, offset=2)
        assert (page["rows"], page["has_more"]) == ([[3, "c"]], False), page

        for tool, arguments, code in [
            ("run_sql", {"mind": mind, "sql": "DELETE FROM item"}, "sql_not_read_only"),
            ("run_sql", {"mind": mind, "sql": "SELECT * FROM item", "max_rows": 0}, "invalid_parameter"),
            ("ask", {"mind": "nobody", "question": "Who?"}, "mind_not_found"),
            ("ask", {"question": "Who?"}, "invalid_parameter"),
            ("read_page", {**place, "message": "nonsense"}, "message_not_found"),
        ]:
            refused = await client.call_tool(tool, arguments)
            assert refused.is_error, refused
            assert refused.structured_content["error"]["code"] == code, refused

    # The handshake of older protocol versions.
    async with connect(mode="legacy") as client:
        assert len((await client.list_tools()).tools) == 5
        assert (await call(client, "list_minds")) == minds
    print("ok")


asyncio.run(main())
