/** `llm`: one run of the built-in agent loop. A request on stdin, events on stdout. */
import { closeSync, openSync } from "node:fs";
import { text } from "node:stream/consumers";
import { keyEnvOf } from "./connect.ts";
import { Loop } from "./loop.ts";
import { explainRequest, type LlmEvent, llmRequest } from "./protocol.ts";

// The package writes warnings to stdout, among our events.
(globalThis as { AI_SDK_LOG_WARNINGS?: boolean }).AI_SDK_LOG_WARNINGS = false;

const stop = new AbortController();
for (const name of ["SIGTERM", "SIGINT"] as const) {
  process.on(name, () => {
    if (stop.signal.aborted) process.exit(143);
    stop.abort();
  });
}
// Without a reader, no budget could stop the run.
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
    // there is none; the loop reports that in its result
  }
  const result = await new Loop(request, env, stop.signal, emit).run();
  emit(result, stop.signal.aborted ? 143 : result.outcome.kind === "done" ? 0 : 1);
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

/** The request has the keys, and a command could open it as /proc/PID/fd/0. */
function hideStdin(): void {
  try {
    closeSync(0);
    openSync("/dev/null", "r"); // takes the number, so that nothing else gets it
  } catch {
    // it was closed already
  }
}

function refuse(why: string): void {
  const outcome = { kind: "refused" as const, message: `the request is invalid: ${why}` };
  emit({ type: "result", outcome, text: "", session: null, usage: [], steps: 0 }, 2);
}

/** With a status it is the last event: the process exits, whatever connections are open. */
function emit(event: LlmEvent, status?: number): void {
  let line = JSON.stringify(event);
  if (secret && secret.length >= 8) line = line.replaceAll(secret, "***");
  process.stdout.write(`${line}\n`, () => {
    if (status !== undefined) process.exit(status);
  });
}
