/** `llm`: one run of the built-in agent loop. A request on stdin, events on stdout. */
import { closeSync, openSync } from "node:fs";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { keyEnvOf } from "./connect.ts";
import { Loop } from "./loop.ts";
import { explainRequest, type LlmEvent, llmRequest } from "./protocol.ts";

// The package writes warnings to where our events go.
(globalThis as { AI_SDK_LOG_WARNINGS?: boolean }).AI_SDK_LOG_WARNINGS = false;

const stop = new AbortController();
for (const name of ["SIGTERM", "SIGINT"] as const) {
  process.on(name, () => {
    if (stop.signal.aborted) process.exit(143);
    stop.abort();
  });
}
// Nobody reads any more: nobody would see what is paid for from here on.
process.stdout.on("error", () => process.exit(1));

let secret: string | undefined;

void main();

async function main(): Promise<void> {
  const request = await readRequest();
  if (typeof request === "string") return refuse(request);
  const env = { ...process.env, ...request.keys };
  try {
    secret = env[keyEnvOf(request) ?? ""];
  } catch {
    // there is none; the loop says so in its result
  }
  const loop = new Loop(request, {
    env,
    signal: stop.signal,
    say,
    now: Date.now,
    sleep: (ms, signal) => pause(ms, undefined, { signal }),
  });
  const result = await loop.run();
  say(result, stop.signal.aborted ? 143 : result.outcome.kind === "done" ? 0 : 1);
}

async function readRequest() {
  try {
    const given = await text(process.stdin);
    hideStdin();
    const parsed = llmRequest.safeParse(JSON.parse(given));
    return parsed.success ? parsed.data : explainRequest(parsed.error);
  } catch (error) {
    return (error as Error).message;
  }
}

/** What was read there holds the keys, and a command could open it by our number. */
function hideStdin(): void {
  try {
    closeSync(0);
    openSync("/dev/null", "r"); // takes the number, so that nothing else gets it
  } catch {
    // it was closed already
  }
}

function refuse(why: string): void {
  const outcome = { kind: "refused" as const, message: `the request makes no sense: ${why}` };
  say({ type: "result", outcome, text: "", session: null, usage: [], steps: 0 }, 2);
}

/** With a status it is the last word: connections that are still open do not keep us. */
function say(event: LlmEvent, status?: number): void {
  let line = JSON.stringify(event);
  if (secret && secret.length >= 8) line = line.replaceAll(secret, "***");
  process.stdout.write(`${line}\n`, () => {
    if (status !== undefined) process.exit(status);
  });
}
