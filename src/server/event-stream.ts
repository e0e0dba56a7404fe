import type { ServerResponse } from "node:http";
import { setImmediate as turn } from "node:timers/promises";
import { unknownEvents } from "../queue/ledger-names.ts";
import type { EventFilter } from "./event-filter.ts";
import { STREAM_TYPES } from "./operation-stream.ts";
import { drained } from "./requests.ts";

/** Events that come while it catches up. */
const MOST_WAITING = 10_000;

/** One client of /events. While it catches up with the past, what happens now waits. */
export class EventStream {
  readonly filter: EventFilter;
  readonly #response: ServerResponse;
  #waiting: string[] | null = [];
  readonly #unreadBytes: number;
  #sent = 0;

  /** A reader that is more than `unreadBytes` behind is closed, and goes on from its last event. */
  constructor(
    response: ServerResponse,
    headers: Record<string, string>,
    filter: EventFilter,
    unreadBytes: number,
  ) {
    this.#unreadBytes = unreadBytes;
    this.filter = filter;
    this.#response = response;
    response.writeHead(200, {
      ...headers,
      "content-type": STREAM_TYPES.sse,
      connection: "close",
      // For proxies that would wait for more.
      "x-accel-buffering": "no",
    });
    response.socket?.setNoDelay(true);
    response.write("retry: 1000\n\n");
    for (const note of unknownEvents(filter.event)) response.write(`: ${note}\n\n`);
  }

  /** JSON has no line breaks, and an id of ours none either. */
  static text(event: string, data: unknown, id?: string): string {
    return `${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
  }

  /** Before what waits. */
  sendNow(event: string, data: unknown, id?: string): void {
    this.#write(EventStream.text(event, data, id));
  }

  send(text: string): void {
    if (this.#waiting === null) this.#write(text);
    else if (this.#waiting.length < MOST_WAITING) this.#waiting.push(text);
    else this.end();
  }

  /** False when the client is gone. Waits while it reads. */
  async keepsUp(): Promise<boolean> {
    await drained(this.#response);
    if (++this.#sent % 200 === 0) await turn();
    return !this.#response.destroyed;
  }

  goLive(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = null;
    for (const text of waiting) this.#write(text);
  }

  /** Tells a page that the connection lives: it is not shown comments. */
  beat(position: string | undefined): void {
    if (this.#waiting === null) this.#write(EventStream.text("beat", {}, position));
  }

  #write(named: string): void {
    const text = this.filter.isUnnamed ? withoutName(named) : named;
    if (this.#response.destroyed || this.#response.writableEnded) return;
    if (this.#response.writableLength > this.#unreadBytes) this.#response.destroy();
    else this.#response.write(text);
  }

  end(): void {
    this.#response.end();
  }
}

/**
 * Of the ledger's lines the name is left out, of a beat all but the id, which the client remembers without
 * showing it, of other events everything. JSON has no line breaks.
 */
function withoutName(text: string): string {
  const [all, id, event] = /^(id: .*\n)?event: (.*)\n/.exec(text) ?? [];
  if (all === undefined) return text;
  if (event === "beat") return `${id ?? ":\n"}\n`;
  return event === "ledger" ? `${id ?? ""}${text.slice(all.length)}` : "";
}
