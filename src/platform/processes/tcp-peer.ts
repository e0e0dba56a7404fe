import { readFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

/**
 * Whether the program at the other end of a connection on this machine is of this user, or of root:
 * the kernel lists the owner of each connection.
 */
export async function isOurPeer(socket: Socket): Promise<boolean> {
  const { remoteAddress, remotePort, localAddress, localPort } = socket;
  if (remoteAddress === undefined || localAddress === undefined) return false;
  const ends = ` ${hexOf(remoteAddress, remotePort ?? 0)} ${hexOf(localAddress, localPort ?? 0)} `;
  const all = await connections();
  const at = all.indexOf(ends);
  if (at < 0) return false; // closed already, or not listed
  const rest = all.slice(at + ends.length, all.indexOf("\n", at));
  // Its state, two queues, two timers, retries, the user.
  const [state, , , , user] = rest.trim().split(/\s+/);
  // A connection that is being closed is listed as root's.
  return Number(user) === process.getuid?.() || (user === "0" && state === ESTABLISHED);
}

const ESTABLISHED = "01";
/** With thousands of connections the list takes some milliseconds: however many ask, they take a tenth of the time. */
const PAUSE_MS = 100;
let lastAt = Number.NEGATIVE_INFINITY;
let next: Promise<string> | null = null;

/** As they are now, or a moment later: concurrent callers share one read. */
function connections(): Promise<string> {
  next ??= (async () => {
    await delay(Math.max(0, lastAt + PAUSE_MS - performance.now()));
    next = null;
    lastAt = performance.now();
    // The machine has no such list: then no peer is ours.
    return readFile("/proc/net/tcp", "latin1").catch(() => "");
  })();
  return next;
}

/** As the kernel writes it: the four numbers from the last to the first. */
function hexOf(address: string, port: number): string {
  const numbers = address
    .replace(/^::ffff:/, "")
    .split(".")
    .map(Number)
    .reverse();
  const hex = (value: number, digits: number) =>
    value.toString(16).toUpperCase().padStart(digits, "0");
  return `${numbers.map((one) => hex(one, 2)).join("")}:${hex(port, 4)}`;
}
