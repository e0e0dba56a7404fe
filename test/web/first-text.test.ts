import { expect, it } from "vitest";
import { firstText } from "../../web/src/live/first-text.ts";

/** An answer that says its size, of which so much was fetched. */
function answerOf(bytes: Uint8Array, chunk: number) {
  const seen = { fetched: 0, isCancelled: false };
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const next = bytes.subarray(seen.fetched, seen.fetched + chunk);
        seen.fetched += next.length;
        if (next.length === 0) controller.close();
        else controller.enqueue(next);
      },
      cancel() {
        seen.isCancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  const headers = { "content-length": String(bytes.length) };
  return { response: new Response(body, { headers }), seen };
}

it("fetches no more of an answer than is shown, and says how much is left", async () => {
  const { response, seen } = answerOf(new TextEncoder().encode("é".repeat(5_000)), 100);
  expect(await firstText(response, 301)).toEqual({ text: "é".repeat(150), rest: 9_699 });
  expect(seen).toEqual({ fetched: 400, isCancelled: true });
});

it("reads a short answer to its end", async () => {
  const { response } = answerOf(new TextEncoder().encode("# Done é\n"), 4);
  expect(await firstText(response, 1_000)).toEqual({ text: "# Done é\n", rest: 0 });
  expect(await firstText(new Response(null), 1_000)).toEqual({ text: "", rest: 0 });
});
