// The TypeScript SDK v2's client: `client.mjs URL MODE` calls the tools of the `serve` example, and prints what came back.
//
// auto     finds out which era the server is of
// legacy   begins with a handshake: 2025-11-25 and earlier
// modern   2026-07-28, or nothing
// sse      HTTP with SSE, the transport of 2024-11-05

import { Client, SSEClientTransport, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const [url, mode] = process.argv.slice(2);
const transport =
  mode === "sse" ? new SSEClientTransport(new URL(url)) : new StreamableHTTPClientTransport(new URL(url));
const negotiation = { auto: "auto", modern: { pin: "2026-07-28" } }[mode] ?? "legacy";
const client = new Client(
  { name: "typescript-v2-peer", version: "1.0.0" },
  { versionNegotiation: { mode: negotiation } },
);
await client.connect(transport);

const progress = [];
const onprogress = (told) => progress.push([told.progress, told.total]);
const call = async (name, args, options) =>
  (await client.callTool({ name, arguments: args }, options)).content[0].text;

const { tools } = await client.listTools();
const report = {
  version: client.getNegotiatedProtocolVersion(),
  tools: tools.map((tool) => tool.name),
  echo: await call("echo", { text: "grüß dich\n" }),
  add: await call("add", { a: 2, b: 40 }),
  slow: await call("slow", { pause_ms: 50 }, { onprogress }),
  region: await call("region", { region: "eu-west" }),
};
await client.close();
console.log(JSON.stringify({ ...report, progress }));
