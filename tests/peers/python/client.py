"""The Python SDK's client: `client.py URL MODE` calls the tools of the `serve` example, and prints what came back.

auto     finds out which era the server is of
legacy   begins with a handshake: 2025-11-25 and earlier
modern   2026-07-28, without asking
sse      HTTP with SSE, the transport of 2024-11-05
"""

import json
import sys

import anyio
from mcp import Client
from mcp.client.sse import sse_client


def text(result):
    return result.content[0].text


async def main(url, mode):
    if mode == "sse":
        client = Client(sse_client(url), mode="legacy")
    else:
        client = Client(url, mode="2026-07-28" if mode == "modern" else mode)
    seen = []

    async def on_progress(progress, total, message):
        seen.append([progress, total])

    async with client:
        tools = await client.list_tools()
        report = {
            "version": client.protocol_version,
            "tools": [tool.name for tool in tools.tools],
            "echo": text(await client.call_tool("echo", {"text": "grüß dich\n"})),
            "add": text(await client.call_tool("add", {"a": 2, "b": 40})),
            "slow": text(await client.call_tool("slow", {"pause_ms": 50}, progress_callback=on_progress)),
            "region": text(await client.call_tool("region", {"region": "eu-west"})),
        }
    print(json.dumps({**report, "progress": seen}))


anyio.run(main, *sys.argv[1:])
