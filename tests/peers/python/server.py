"""The Python SDK's server: `server.py MODE` prints its URL, then serves until it is killed.

stateful   Streamable HTTP with sessions and an event store: 2026-07-28, and 2025-11-25 and earlier with resumption
stateless  Streamable HTTP without sessions: 2026-07-28, and 2025-11-25 and earlier
sse        HTTP with SSE, the transport of 2024-11-05
"""

import json
import socket
import sys

import anyio
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.streamable_http import EventMessage, EventStore
from mcp_types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult
from pydantic import BaseModel

server = MCPServer("python-peer")
counters = {"slow": 0, "hang": 0, "cancelled": 0}


class Memory(EventStore):
    """Every event there was: the peers live for seconds."""

    def __init__(self):
        self.events = []

    async def store_event(self, stream_id, message):
        self.events.append((stream_id, message))
        return str(len(self.events))

    async def replay_events_after(self, last_event_id, send_callback):
        if not last_event_id.isdigit() or not 0 < int(last_event_id) <= len(self.events):
            return None
        stream_id, _ = self.events[int(last_event_id) - 1]
        for number, (stream, message) in enumerate(list(self.events), start=1):
            if stream == stream_id and number > int(last_event_id) and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream_id


class Answer(BaseModel):
    answer: str = "yes"


@server.tool(structured_output=False)
def echo(text: str) -> str:
    return text


@server.tool(structured_output=False)
def add(a: int, b: int) -> str:
    return str(a + b)


@server.tool(structured_output=False)
async def slow(ctx: Context) -> str:
    """Reports progress three times, then answers."""
    counters["slow"] += 1
    for step in range(1, 4):
        await anyio.sleep(0.05)
        await ctx.report_progress(step, 3)
    await anyio.sleep(0.05)
    return "slow done"


@server.tool(structured_output=False)
async def ask(ctx: Context) -> str | InputRequiredResult:
    """Asks the client: by a request during the call, or since 2026-07-28 by a result that wants input."""
    if ctx.protocol_version < "2026-07-28":
        result = await ctx.elicit("Yes or no?", Answer)
        return f"asked: {result.action} {result.data.answer}"
    if ctx.input_responses is None:
        params = ElicitRequestFormParams(message="Yes or no?", requested_schema=Answer.model_json_schema())
        return InputRequiredResult(input_requests={"answer": ElicitRequest(params=params)}, request_state="asked")
    response = ctx.input_responses["answer"]
    return f"asked: {response.action} {response.content['answer']}"


@server.tool(structured_output=False)
async def hang(ctx: Context) -> str:
    """Reports that it began, and never answers; counts if it is cancelled."""
    counters["hang"] += 1
    await ctx.report_progress(0)
    try:
        await anyio.sleep_forever()
    except anyio.get_cancelled_exc_class():
        counters["cancelled"] += 1
        raise
    return "never"


@server.tool(name="counters", structured_output=False)
def read_counters() -> str:
    return json.dumps(counters)


def main(mode):
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    if mode == "sse":
        app, path = server.sse_app(), "/sse"
    elif mode == "stateful":
        app, path = server.streamable_http_app(event_store=Memory(), retry_interval=200), "/mcp"
    elif mode == "stateless":
        app, path = server.streamable_http_app(stateless_http=True), "/mcp"
    else:
        sys.exit(__doc__)
    print(f"{url}{path}", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])


main(*sys.argv[1:])
