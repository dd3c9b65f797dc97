// What the TypeScript clients' `breaks.mjs` share: 16 calls at once, a line of JSON for each.

import { createInterface } from "node:readline";

// `call(url, timeout, begins)` gives the result's text, and says when the handshake is over.
export async function callEach(call) {
  const timeout = Number(process.argv[2]);
  const urls = [];
  for await (const url of createInterface({ input: process.stdin })) {
    urls.push(url);
  }
  // What a client throws elsewhere than at its caller is not what its caller gets.
  process.on("unhandledRejection", () => {});
  process.on("uncaughtException", () => {});
  const one = async (url) => {
    let begun = performance.now();
    const begins = () => (begun = performance.now());
    const late = new Promise((resolve) => setTimeout(resolve, 2 * timeout, null));
    const text = await Promise.race([call(url, timeout, begins).catch(() => null), late]);
    console.log(JSON.stringify({ url, text, ms: performance.now() - begun }));
  };
  const worker = async () => {
    while (urls.length > 0) {
      await one(urls.shift());
    }
  };
  await Promise.all(Array.from({ length: 16 }, worker));
  process.exit(0);
}
