// The TypeScript SDK v2's client on responses that break: `breaks.mjs TIMEOUT` reads URLs, one a line, calls the tool `charge` at
// each with that time-out in milliseconds, and prints what its caller got, and when.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { callEach } from "./calls.mjs";

await callEach(async (url, timeout, begins) => {
  const client = new Client(
    { name: "typescript-v2-peer", version: "1.0.0" },
    { versionNegotiation: { mode: { pin: "2026-07-28" } } },
  );
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  begins();
  const result = await client.callTool({ name: "charge", arguments: {} }, { timeout });
  return result.content[0].text;
});
