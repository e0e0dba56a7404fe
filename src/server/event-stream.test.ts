import { expect, it } from "vitest";
import { filterFrom } from "./event-filter.ts";
import { EventStream } from "./event-stream.ts";

/** What a client of /events with that query is sent at a beat. */
function beatOf(query: string, position?: string): string {
  const written: string[] = [];
  const response = {
    ...{ destroyed: false, writableEnded: false, writableLength: 0, socket: null },
    writeHead() {},
    write: (text: string) => written.push(text),
  };
  const filter = filterFrom(new URLSearchParams(query));
  const stream = new EventStream(response as never, {}, filter, 1024);
  stream.beat(position);
  stream.goLive();
  written.length = 0;
  stream.beat(position);
  return written.join("");
}

it("beats with an event that a page sees, and the id to resume from", () => {
  expect(beatOf("", "7")).toBe("id: 7\nevent: beat\ndata: {}\n\n");
  expect(beatOf("event=ended")).toBe("event: beat\ndata: {}\n\n");
});

it("beats without an event for clients that take every event for a line of the ledger", () => {
  expect(beatOf("as=message", "7")).toBe("id: 7\n\n");
  expect(beatOf("as=message")).toBe(":\n\n");
});
