import { readFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

/** Which user the program at the other end of a connection on this machine is of. */
export type Peer =
  | "ours"
  | "other"
  /** The machine has no list of connections. */
  | "unknown";

/** This user's, or root's: the kernel lists the owner of each connection. */
export async function peerOf(socket: Socket): Promise<Peer> {
  const { remoteAddress, remotePort, localAddress, localPort } = socket;
  if (remoteAddress === undefined || localAddress === undefined) return "other"; // closed already
  const ends = ` ${hexOf(remoteAddress, remotePort ?? 0)} ${hexOf(localAddress, localPort ?? 0)} `;
  const all = await (localAddress === "::1" ? six : four).read();
  if (all === null) return "unknown";
  const at = all.indexOf(ends);
  if (at < 0) return "other"; // closed, or not listed
  const rest = all.slice(at + ends.length, all.indexOf("\n", at));
  // Its state, two queues, two timers, retries, the user.
  const [state, , , , user] = rest.trim().split(/\s+/);
  // A connection that is being closed is listed as root's.
  const isOurs = Number(user) === process.getuid?.() || (user === "0" && state === ESTABLISHED);
  return isOurs ? "ours" : "other";
}

/** Where the machine has no list, no peer is ours. */
export async function isOurPeer(socket: Socket): Promise<boolean> {
  return (await peerOf(socket)) === "ours";
}

const ESTABLISHED = "01";
/** With thousands of connections the list takes some milliseconds: however many ask, it takes a tenth of the time. */
const PAUSES = 10;
const LONGEST_PAUSE_MS = 100;

/** As they are now, or a moment later: concurrent callers share one read. */
class Connections {
  readonly #path: string;
  #nextAt = Number.NEGATIVE_INFINITY;
  #next: Promise<string | null> | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  read(): Promise<string | null> {
    this.#next ??= (async () => {
      await delay(Math.max(0, this.#nextAt - performance.now()));
      this.#next = null;
      const begin = performance.now();
      const text = await readFile(this.#path, "latin1").catch(() => null);
      const end = performance.now();
      this.#nextAt = end + Math.min(LONGEST_PAUSE_MS, PAUSES * (end - begin));
      return text;
    })();
    return this.#next;
  }
}

const four = new Connections("/proc/net/tcp");
const six = new Connections("/proc/net/tcp6");

/** As the kernel writes it: each four bytes from the last to the first. */
function hexOf(address: string, port: number): string {
  const numbers = address
    .replace(/^::ffff:/, "")
    .split(".")
    .map(Number)
    .reverse();
  const hex = (value: number, digits: number) =>
    value.toString(16).toUpperCase().padStart(digits, "0");
  const host = address === "::1" ? LOOPBACK_6 : numbers.map((one) => hex(one, 2)).join("");
  return `${host}:${hex(port, 4)}`;
}

const LOOPBACK_6 = "00000000000000000000000001000000";
