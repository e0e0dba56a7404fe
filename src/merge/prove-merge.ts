import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import * as z from "zod/mini";
import type { ClaimTree, Machine } from "../base/clock.ts";
import { ifThere } from "../base/errno.ts";
import { VivError } from "../base/errors.ts";
import { parseRecord } from "../base/json.ts";
import { listed } from "../base/text.ts";
import { replaceFileUnsynced } from "../platform/files/atomic-write.ts";
import { removeSync } from "../platform/files/beneath.ts";
import { MachineRetry } from "../platform/machine-retry.ts";
import type { Finished } from "../platform/processes/handlers.ts";
import type { Claim, ClaimProcess, Store } from "../queue/store.ts";
import type { ReadyRoute } from "../work/attempt.ts";
import { needsAnything } from "../work/config-needs.ts";
import { reportOf } from "../work/ending.ts";
import type { WorkerHost } from "../work/host.ts";
import { environmentFor, type Place } from "../work/place.ts";
import { preparation } from "../work/ready.ts";
import { Runner } from "../work/runner.ts";
import type { Candidate } from "./candidates.ts";

/** What a proof of a merge needs. */
export interface ProofHost {
  store: Store;
  host: WorkerHost;
  machine: Pick<Machine, "self" | "leftovers">;
  killAfterMs: number;
  logBytes: number;
  signal: AbortSignal;
}

export type MergeProof =
  | { kind: "green" }
  | { kind: "red"; note: string }
  /** It says nothing about the merge. `isOfAny`: nor which one of a batch is the cause. */
  | { kind: "held"; reason: string; isOfAny?: boolean }
  | { kind: "stopped" };

export interface ProofRequest {
  candidate: Candidate;
  route: ReadyRoute;
  /** The scratch worktree, at the merge commit. */
  path: string;
  /** In order, until one fails. */
  commands: readonly string[];
  timeoutMs: number;
  head: string;
  log: string;
}

/**
 * The commands of one task in one shell, in its sandbox and with its variables: one program to end,
 * one log. Run as an attempt's own proof is, but noted in a file of the queue instead of a claim.
 */
export async function proveMerge(queue: ProofHost, request: ProofRequest): Promise<MergeProof> {
  const { store, host, signal } = queue;
  const { candidate, route, path, commands } = request;
  if (signal.aborted) return { kind: "stopped" };
  const { id, type, task, attempt } = candidate;
  const token = randomBytes(8).toString("hex");
  const mark = `merge:${store.runId}:${id}:${token}`;
  const claim: Claim = { id, type, task, worker: "viv-merge", token, attempt };
  const ref = { id, worker: claim.worker, token };
  const notes = {
    folder: store.folder,
    claimMark: () => mark,
    noteProcess: async (_: unknown, process: ClaimProcess) => note(queue, path, process),
    forgetProcess: async () => removeSync(notePath(path)),
  };
  const retry = new MachineRetry(() => {});
  const runner = new Runner({ claim, id, ref, route, store: notes, host, retry }, queue);
  const onStop = () => runner.stop("the merge queue stops");
  signal.addEventListener("abort", onStop);
  try {
    const env = environmentFor({ claim, id, route, store, host }, path);
    const bare = { cwd: path, workspace: path, env, branch: undefined, claimFile: undefined };
    const place = await readyPlace(queue, request, runner, bare);
    if ("kind" in place) return place;
    const [only = ""] = commands;
    const argv =
      commands.length === 1
        ? ["/bin/sh", "-c", only]
        : ["/bin/sh", "-c", IN_TURN, "sh", ...commands];
    const finished = await runner.execute(place, argv, {
      stdin: "",
      head: commands.length === 1 ? `${request.head}\n$ ${only}` : request.head,
      logPath: request.log,
      timeoutMs: request.timeoutMs,
      isProof: true,
    });
    return judged(finished);
  } finally {
    signal.removeEventListener("abort", onStop);
  }
}

/** The scratch worktree with what the route's set-up, `copy` and `link` bring into a workspace. */
async function readyPlace(
  { store, host, signal }: ProofHost,
  { candidate: { id, repository }, route, path }: ProofRequest,
  runner: Runner,
  place: Place,
): Promise<Place | MergeProof> {
  if (!needsAnything(route)) return place;
  const where = { path, root: store.workspaces, repository, base: null, cacheBytes: 0, signal };
  const prepared = await host.prepareWorkspace(
    preparation({ id, route, host }, runner, place, where),
  );
  if (prepared.kind === "ready") {
    return { ...place, env: { ...place.env, ...prepared.env }, reads: prepared.reads };
  }
  if (prepared.kind === "ended" && prepared.finished.cause === "stopped")
    return { kind: "stopped" };
  const { note } = prepared.kind === "ended" ? reportOf("failed", prepared.finished) : prepared;
  return { kind: "held", reason: `its set-up failed after the merge: ${note}` };
}

/** Each under its own heading in the log; the first that fails is the last. */
const IN_TURN = `for command; do
  printf '$ %s\\n' "$command"
  /bin/sh -c "$command" || exit
done`;

function judged(finished: Finished): MergeProof {
  const { cause, exit, error = "", survivors } = finished;
  if (cause === "stopped") return { kind: "stopped" };
  if (cause === "unstartable") return { kind: "held", reason: error };
  if (survivors.length > 0) {
    return { kind: "held", reason: `its proof's ${listed("process", survivors)} cannot be ended` };
  }
  if (exit === 0 && cause === "exit") return { kind: "green" };
  return { kind: "red", note: reportOf("unproven", finished).note };
}

const tree = z.object({
  host: z.string(),
  boot: z.string(),
  pid: z.number(),
  started: z.string(),
  claim: z.string(),
});

/** Beside the scratch worktree. */
function notePath(scratch: string): string {
  return `${scratch}.process.json`;
}

function note({ machine }: ProofHost, scratch: string, process: ClaimProcess): void {
  const { host, boot } = machine.self();
  const one: ClaimTree = { ...process, host, boot };
  replaceFileUnsynced(notePath(scratch), `${JSON.stringify(one)}\n`);
}

/** The proof of a queue that died must not run beside the next one, in the same folder. */
export async function endLeftProof({ machine }: ProofHost, scratch: string): Promise<void> {
  const text = ifThere(() => readFileSync(notePath(scratch), "utf8"));
  if (text === null) return;
  const noted = tree.safeParse(parseRecord(text)); // a power cut that tore it has ended its processes
  const self = machine.self();
  const isHere = noted.data?.host === self.host && noted.data.boot === self.boot;
  const left = isHere ? await machine.leftovers?.end(noted.data as ClaimTree) : [];
  if (left && left.length > 0) {
    const which = listed("process", left);
    throw new VivError("LOCKED", `the ${which} of an earlier proof cannot be ended; end it first.`);
  }
  removeSync(notePath(scratch));
}
