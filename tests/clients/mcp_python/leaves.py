"""Asks a Mind through the `mcp` client for Python with the handshake of older protocols, and may give up waiting.

Arguments: the URL of /mcp, a key, the name of a Mind, and how many seconds to wait. Prints the answer or "gave up", and
stays connected until its standard input ends: what it left must not end because the process does.
"""

import asyncio
import sys

from mcp import Client, MCPError
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

url, key, mind, patience = sys.argv[1:]


async def main():
    http = create_mcp_http_client(headers={"Authorization": f"Bearer {key}"})
    async with Client(streamable_http_client(url, http_client=http), mode="legacy") as client:
        try:
            arguments = {"mind": mind, "question": "How many?"}
            result = await client.call_tool("ask", arguments, read_timeout_seconds=float(patience))
            print(result.structured_content["answer"], flush=True)
        except (MCPError, TimeoutError):
            print("gave up", flush=True)
        await asyncio.to_thread(sys.stdin.read)


asyncio.run(main())
