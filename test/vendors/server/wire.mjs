// What the protocols share. An answer is { type, chunks }: chunks are written one after the other.

export const textOf = (content) =>
  typeof content === "string" ? content : (content ?? []).map(({ text }) => text ?? "").join("\n");

/** As models stream it; joined, it is the text again. */
export const inPieces = (text) => text.match(/.{1,12}/gsu) ?? [""];

export const json = (value) => ({ type: "application/json", chunks: [JSON.stringify(value)] });
export const frames = (chunks) => ({ type: "text/event-stream", chunks });

export const plain = (event) => `data: ${JSON.stringify(event)}\n\n`;
export const named = (event) => `event: ${event.type}\n${plain(event)}`;

/** Writes an answer to its end, or to its middle when the stream has trouble. */
export async function deliver(response, { type, chunks }, trouble) {
  response.writeHead(200, { "content-type": type, "cache-control": "no-cache" });
  if (trouble === undefined) return void response.end(chunks.join(""));
  const middle = Math.floor(chunks.length / 2);
  const whole = chunks.slice(0, middle).join("");
  const cut = whole + chunks[middle].slice(0, chunks[middle].length / 2);
  if (trouble === "truncated") return void response.end(cut);
  await new Promise((resolve) => response.write(whole || cut, resolve));
  if (trouble === "reset") response.socket?.resetAndDestroy();
  // stall: it stays open until the client gives up
}
