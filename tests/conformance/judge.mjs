// What one run of a scenario is worth, read from the suite's own files.
//
//   judge.mjs client|server DIRECTORY SCENARIO RUNNER-STATUS LEAST [ALLOWED-SKIPS]
//
// The runner's verdict is not enough: a client that does nothing passes some scenarios, a scenario that does not exist at a
// revision "passes" as skipped, one scenario forgives a client that failed, and a server may be warned. So a run passes only if
// the runner and the client both ended well, no check failed, warned or was skipped (but those that are named), and at least
// LEAST succeeded.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const [side, directory, scenario, runnerStatus, least, allowedSkips = ""] = process.argv.slice(2);
const holes = [];

/** The one directory that the runner made for this run. */
function runDirectory() {
  const made = existsSync(directory) ? readdirSync(directory).filter((name) => name.includes(scenario)) : [];
  if (made.length !== 1) {
    holes.push(`${made.length} directories of results instead of 1`);
  }
  return made.length === 1 ? join(directory, made[0]) : null;
}

function read(path, name) {
  const file = path === null ? null : join(path, name);
  if (file === null || !existsSync(file)) {
    holes.push(`no ${name}`);
    return "";
  }
  return readFileSync(file, "utf8");
}

const results = runDirectory();
const checks = JSON.parse(read(results, "checks.json") || "[]");
const of = (status) => checks.filter((check) => check.status === status);
const label = (check) => `${check.name}${check.errorMessage ? ` (${check.errorMessage})` : ""}`;

if (runnerStatus !== "0") {
  holes.push(runnerStatus === "124" || runnerStatus === "137" ? "the runner hung" : `the runner ended with ${runnerStatus}`);
}
// Only a client that has seen every answer it waits for prints this line.
const vouches = () => read(results, "stdout.txt").split("\n").includes(`${scenario}: every answer was as it must be`);
if (side === "client" && !vouches()) {
  holes.push(`the client did not vouch for its answers: ${read(results, "stderr.txt").trim() || "it says nothing"}`);
}
const allowed = new Set(allowedSkips.split(",").filter(Boolean));
for (const status of ["FAILURE", "WARNING"]) {
  for (const check of of(status)) {
    holes.push(`${status} ${label(check)}`);
  }
}
for (const check of of("SKIPPED")) {
  if (!allowed.delete(check.name)) {
    holes.push(`SKIPPED ${label(check)}`);
  }
}
const unknown = checks.filter((check) => !["SUCCESS", "FAILURE", "WARNING", "INFO", "SKIPPED"].includes(check.status));
for (const check of unknown) {
  holes.push(`${check.status} ${label(check)}`);
}
// The suite forgives a reconnection that comes late; ours would come after 1 s if `retry` were not heard at all.
for (const { details, name } of checks) {
  if (details?.actualDelayMs > 700) {
    holes.push(`${name}: ${details.actualDelayMs} ms is too late for ${details.expectedRetryMs} ms`);
  }
}
const succeeded = of("SUCCESS").length;
if (succeeded < Number(least)) {
  holes.push(`${succeeded} checks succeeded instead of ${least}`);
}

console.log(`${succeeded}/${least} checks`);
for (const hole of holes) {
  console.log(`    ${hole}`);
}
process.exit(holes.length === 0 ? 0 : 1);
