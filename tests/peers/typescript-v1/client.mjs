// The TypeScript SDK v1's client: `client.mjs URL MODE` calls the tools of the `serve` example, and prints what came back.
//
// legacy   begins with a handshake: 2025-11-25 and earlier
// sse      HTTP with SSE, the transport of 2024-11-05

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, mode] = process.argv.slice(2);
const transport =
  mode === "sse" ? new SSEClientTransport(new URL(url)) : new StreamableHTTPClientTransport(new URL(url));
// The client tells its transport which revision was negotiated, and nobody else.
let version = null;
const setProtocolVersion = transport.setProtocolVersion.bind(transport);
transport.setProtocolVersion = (negotiated) => {
  version = negotiated;
  setProtocolVersion(negotiated);
};
const client = new Client({ name: "typescript-v1-peer", version: "1.0.0" });
await client.connect(transport);

const progress = [];
const onprogress = (told) => progress.push([told.progress, told.total]);
const call = async (name, args, options) =>
  (await client.callTool({ name, arguments: args }, undefined, options)).content[0].text;

const { tools } = await client.listTools();
const report = {
  version,
  tools: tools.map((tool) => tool.name),
  echo: await call("echo", { text: "grüß dich\n" }),
  add: await call("add", { a: 2, b: 40 }),
  slow: await call("slow", { pause_ms: 50 }, { onprogress }),
  region: await call("region", { region: "eu-west" }),
};
if (mode !== "sse") {
  await transport.terminateSession();
}
await client.close();
console.log(JSON.stringify({ ...report, progress }));
