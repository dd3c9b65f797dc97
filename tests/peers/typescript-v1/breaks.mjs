// The TypeScript SDK v1's client on responses that break: `breaks.mjs TIMEOUT` reads URLs, one a line, calls the tool `charge` at
// each with that time-out in milliseconds, and prints what its caller got, and when.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { callEach } from "./calls.mjs";

await callEach(async (url, timeout, begins) => {
  const client = new Client({ name: "typescript-v1-peer", version: "1.0.0" });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  begins();
  const result = await client.callTool({ name: "charge", arguments: {} }, undefined, { timeout });
  return result.content[0].text;
});
