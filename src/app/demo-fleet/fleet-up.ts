import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { parseRecord } from "../../base/json.ts";
import type { World } from "./world.ts";

export interface FleetUp {
  /** Of the page. */
  address: string;
  /** In order, then at once; resolves when its process is gone. */
  stop(): Promise<void>;
  /** It has ended by itself. */
  ended: Promise<void>;
}

const DRAIN_MS = 3_000;

/** `viv up`, as anyone would start it. It ends when we do, in whichever way: its stdin closes then. */
export async function startFleet(
  world: World,
  { viv, node }: { viv: string; node: string },
  onTrouble: (message: string) => void,
): Promise<FleetUp> {
  const child = spawn(node, [viv, "up", "--json", "--until-stdin-closes"], {
    ...{ cwd: world.fleet, env: world.env, detached: true },
    stdio: ["pipe", "pipe", "pipe"],
  });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-2000);
  });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const ready = new Promise<string>((resolve) => {
    createInterface(child.stdout).on("line", (line) => {
      const event = parseRecord(line);
      if (event?.kind === "ready" && typeof event.address === "string") resolve(event.address);
      if (event?.kind === "parked" || event?.kind === "trouble") {
        const { part = "viv up", message, note } = event;
        onTrouble(`${String(part)}: ${String(message ?? note ?? "parked")}`);
      }
    });
  });
  const failed = ended.then(() => {
    throw new Error(`viv up has ended: ${said.trim() || "without a word"}`);
  });
  failed.catch(() => {}); // an end after the start is no error
  const address = await Promise.race([ready, failed]);
  return { address, ended, stop: () => stop(child, ended) };
}

async function stop(child: ChildProcess, ended: Promise<void>): Promise<void> {
  const tell = () => child.exitCode === null && child.signalCode === null && child.kill("SIGINT");
  child.stdin?.end(); // counts as the first signal
  const hasty = setTimeout(tell, DRAIN_MS);
  const last = setTimeout(() => child.kill("SIGKILL"), 3 * DRAIN_MS);
  await ended;
  clearTimeout(hasty);
  clearTimeout(last);
}
