// The TypeScript SDK v2's server: `server.mjs MODE` prints its URL, then serves until it is killed.
//
// stateful   2026-07-28, and Streamable HTTP with sessions and an event store for 2025-11-25 and earlier
// stateless  2026-07-28, and the SDK's own stateless fallback for 2025-11-25 and earlier
// modern     2026-07-28 alone

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } from "@modelcontextprotocol/node";
import { McpServer, createMcpHandler, inputRequired, isLegacyRequest } from "@modelcontextprotocol/server";
import { z } from "zod";

const counters = { slow: 0, hang: 0, cancelled: 0 };
const text = (text) => ({ content: [{ type: "text", text }] });
const question = {
  message: "Yes or no?",
  requestedSchema: { type: "object", properties: { answer: { type: "string", default: "yes" } } },
};

async function report(mcpReq, progress) {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken !== undefined) {
    await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total: 3 } });
  }
}

function mcpServer(era) {
  const server = new McpServer({ name: "typescript-v2-peer", version: "1.0.0" });
  const nothing = { inputSchema: z.object({}) };
  server.registerTool("echo", { inputSchema: z.object({ text: z.string() }) }, (arguments_) => text(arguments_.text));
  server.registerTool("add", { inputSchema: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) =>
    text(String(a + b)),
  );
  // Reports progress three times, then answers.
  server.registerTool("slow", nothing, async (_, { mcpReq }) => {
    counters.slow += 1;
    for (const progress of [1, 2, 3]) {
      await sleep(50);
      await report(mcpReq, progress);
    }
    await sleep(50);
    return text("slow done");
  });
  // Asks the client: by a request during the call, or since 2026-07-28 by a result that wants input.
  server.registerTool("ask", nothing, async (_, { mcpReq }) => {
    if (era === "modern" && mcpReq.inputResponses === undefined) {
      return inputRequired({ inputRequests: { answer: inputRequired.elicit(question) }, requestState: "asked" });
    }
    const { action, content } =
      era === "modern" ? mcpReq.inputResponses.answer : await mcpReq.elicitInput(question);
    return text(`asked: ${action} ${content?.answer}`);
  });
  // Reports that it began, and never answers; counts if it is cancelled.
  server.registerTool("hang", nothing, async (_, { mcpReq }) => {
    counters.hang += 1;
    await report(mcpReq, 0);
    return new Promise((resolve) => {
      mcpReq.signal.addEventListener("abort", () => {
        counters.cancelled += 1;
        resolve(text("cancelled"));
      });
    });
  });
  server.registerTool("counters", nothing, () => text(JSON.stringify(counters)));
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

const transports = new Map();

async function legacySession(request, response, body) {
  const session = request.headers["mcp-session-id"];
  if (session !== undefined) {
    const transport = transports.get(session);
    return transport === undefined
      ? response.writeHead(404).end()
      : transport.handleRequest(request, response, body);
  }
  const transport = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => transports.set(id, transport),
    onsessionclosed: (id) => transports.delete(id),
    eventStore: new Memory(),
    retryInterval: 200,
  });
  await mcpServer("legacy").connect(transport);
  return transport.handleRequest(request, response, body);
}

async function readJson(request) {
  const chunks = [];
  for await (const chunk of request) {
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks).toString();
  return body === "" ? undefined : JSON.parse(body);
}

const mode = process.argv[2];
const handler = toNodeHandler(
  createMcpHandler(({ era }) => mcpServer(era), { legacy: mode === "stateless" ? "stateless" : "reject" }),
);

async function serve(request, response) {
  if (mode !== "stateful") {
    return handler(request, response);
  }
  const body = await readJson(request);
  const isLegacy = await isLegacyRequest(await toWebRequest(request, body));
  return isLegacy ? legacySession(request, response, body) : handler(request, response, body);
}

const server = createServer((request, response) => {
  serve(request, response).catch((error) => {
    console.error(error);
    response.headersSent ? response.destroy() : response.writeHead(500).end();
  });
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
