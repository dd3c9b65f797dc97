// The TypeScript SDK v1's server: `server.mjs MODE` prints its URL, then serves until it is killed.
//
// stateful   Streamable HTTP with sessions and an event store: 2025-11-25 and earlier, with resumption
// stateless  Streamable HTTP without sessions: 2025-11-25 and earlier
// sse        HTTP with SSE, the transport of 2024-11-05

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";

const counters = { slow: 0, hang: 0, cancelled: 0 };
const text = (text) => ({ content: [{ type: "text", text }] });

async function report(extra, progress) {
  const progressToken = extra._meta?.progressToken;
  if (progressToken !== undefined) {
    await extra.sendNotification({
      method: "notifications/progress",
      params: { progressToken, progress, total: 3 },
    });
  }
}

function mcpServer() {
  const server = new McpServer({ name: "typescript-v1-peer", version: "1.0.0" });
  server.registerTool("echo", { inputSchema: { text: z.string() } }, (arguments_) => text(arguments_.text));
  server.registerTool("add", { inputSchema: { a: z.number(), b: z.number() } }, ({ a, b }) => text(String(a + b)));
  // Reports progress three times, then answers.
  server.registerTool("slow", { inputSchema: {} }, async (_, extra) => {
    counters.slow += 1;
    for (const progress of [1, 2, 3]) {
      await sleep(50);
      await report(extra, progress);
    }
    await sleep(50);
    return text("slow done");
  });
  // Asks the client by a request during the call.
  server.registerTool("ask", { inputSchema: {} }, async (_, extra) => {
    const { action, content } = await server.server.elicitInput(
      {
        message: "Yes or no?",
        requestedSchema: { type: "object", properties: { answer: { type: "string", default: "yes" } } },
      },
      { relatedRequestId: extra.requestId },
    );
    return text(`asked: ${action} ${content?.answer}`);
  });
  // Reports that it began, and never answers; counts if it is cancelled.
  server.registerTool("hang", { inputSchema: {} }, async (_, extra) => {
    counters.hang += 1;
    await report(extra, 0);
    return new Promise((resolve) => {
      extra.signal.addEventListener("abort", () => {
        counters.cancelled += 1;
        resolve(text("cancelled"));
      });
    });
  });
  server.registerTool("counters", { inputSchema: {} }, () => text(JSON.stringify(counters)));
  return server;
}

// Every event there was: the peers live for seconds.
class Memory {
  events = [];

  async storeEvent(streamId, message) {
    this.events.push({ streamId, message });
    return String(this.events.length);
  }

  async getStreamIdForEventId(eventId) {
    return this.events[Number(eventId) - 1]?.streamId;
  }

  async replayEventsAfter(lastEventId, { send }) {
    const { streamId } = this.events[Number(lastEventId) - 1];
    for (const [index, event] of [...this.events.entries()].slice(Number(lastEventId))) {
      if (event.streamId === streamId && event.message.method === undefined && event.message.id === undefined) {
        continue; // The priming event, which is no message.
      }
      if (event.streamId === streamId) {
        await send(String(index + 1), event.message);
      }
    }
    return streamId;
  }
}

const refuse = (response, status) => response.writeHead(status).end();
const transports = new Map();

const modes = {
  async stateful(request, response) {
    const session = request.headers["mcp-session-id"];
    if (session !== undefined) {
      const transport = transports.get(session);
      return transport === undefined ? refuse(response, 404) : transport.handleRequest(request, response);
    }
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => transports.set(id, transport),
      onsessionclosed: (id) => transports.delete(id),
      eventStore: new Memory(),
      retryInterval: 200,
    });
    await mcpServer().connect(transport);
    return transport.handleRequest(request, response);
  },

  async stateless(request, response) {
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
    await mcpServer().connect(transport);
    return transport.handleRequest(request, response);
  },

  async sse(request, response) {
    const { pathname, searchParams } = new URL(request.url, "http://localhost");
    if (pathname === "/messages") {
      const transport = transports.get(searchParams.get("sessionId"));
      return transport === undefined ? refuse(response, 404) : transport.handlePostMessage(request, response);
    }
    if (request.method !== "GET" || pathname !== "/sse") {
      return refuse(response, pathname === "/sse" ? 405 : 404);
    }
    const transport = new SSEServerTransport("/messages", response);
    transports.set(transport.sessionId, transport);
    response.on("close", () => transports.delete(transport.sessionId));
    return mcpServer().connect(transport);
  },
};

const mode = process.argv[2];
const server = createServer((request, response) => {
  modes[mode](request, response).catch((error) => {
    console.error(error);
    response.headersSent ? response.destroy() : refuse(response, 500);
  });
});
server.listen(0, "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${server.address().port}${mode === "sse" ? "/sse" : "/mcp"}`);
});
