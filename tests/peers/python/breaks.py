"""The Python SDK's client on responses that break: `breaks.py TIMEOUT` reads URLs, one a line, calls the tool `charge` at each with
that time-out in milliseconds, and prints what its caller got, and when.
"""

import json
import sys
import time

import anyio
from mcp import Client


async def call(url, timeout, room):
    async with room:
        text, begun = None, time.monotonic()
        # Whatever is raised, its caller has no result.
        try:
            with anyio.move_on_after(2 * timeout):
                async with Client(url, mode="2026-07-28", read_timeout_seconds=timeout) as client:
                    begun = time.monotonic()
                    result = await client.call_tool("charge", {})
                    text = result.content[0].text
        except BaseException:
            pass
        print(json.dumps({"url": url, "text": text, "ms": 1000 * (time.monotonic() - begun)}), flush=True)


async def main(timeout):
    urls = sys.stdin.read().split()
    room = anyio.CapacityLimiter(16)
    async with anyio.create_task_group() as tasks:
        for url in urls:
            tasks.start_soon(call, url, int(timeout) / 1000, room)


anyio.run(main, *sys.argv[1:])
