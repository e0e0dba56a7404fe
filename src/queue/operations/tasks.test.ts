import { expect, it } from "vitest";
import { VivError } from "../../base/errors.ts";
import type { TaskSpec } from "../spec.ts";
import type { BulkResult, Store } from "../store.ts";
import { enqueueStream } from "./tasks.ts";

/** People count lines, the store counts tasks. */

/** A store that refuses the task at `index`, as it would within a group. */
function fakeStore(index = Number.POSITIVE_INFINITY, group = 100) {
  const seen: TaskSpec[] = [];
  const store = {
    async enqueueMany(specs: AsyncIterable<TaskSpec>): Promise<BulkResult> {
      for await (const spec of specs) {
        seen.push(spec);
        // The refusal comes when the group is full: by then later lines have been read.
        if (index < seen.length && seen.length % group === 0) refuse();
      }
      if (index < seen.length) refuse();
      return { enqueued: seen.length, pending: seen.length, waiting: 0, existed: 0 };
    },
  };
  function refuse(): never {
    throw new VivError("TASK_EXISTS", `task ${index + 1}: it is there already`, { index });
  }
  return { seen, store: store as unknown as Store };
}

async function* lines(...texts: string[]): AsyncGenerator<string> {
  yield* texts;
}

it("makes a task of every line that is not blank", async () => {
  const { store: c, seen } = fakeStore();
  const result = await enqueueStream(c, lines('{"type":"a"}', "", "  \r", '{"task_type":"b"}\r'));
  expect(result.enqueued).toBe(2);
  expect(seen).toEqual([{ type: "a" }, { type: "b" }]);
});

it("names the line that is not a task", async () => {
  const { store: c } = fakeStore();
  await expect(enqueueStream(c, lines('{"type":"a"}', "", "nope"))).rejects.toMatchObject({
    code: "INVALID",
    message: expect.stringMatching(/^line 3: it is not valid JSON: /),
  });
});

it("turns the store's index of a task into a line number, however long the stream is", async () => {
  for (const [index, blank] of [
    [0, 0],
    [7, 3],
    [4_321, 100],
  ] as const) {
    const texts = [...Array(blank).fill(""), ...Array(5_000).fill('{"type":"a"}')];
    const line = index + 1 + blank;
    await expect(enqueueStream(fakeStore(index).store, lines(...texts))).rejects.toMatchObject({
      code: "TASK_EXISTS",
      message: `line ${line}: it is there already`,
      details: { index, line },
    });
  }
});

it("refuses a line that is too long for a task", async () => {
  const { store: c, seen } = fakeStore();
  const long = `{"type":"a","payload":{"a":"${"x".repeat(33 * 1024 * 1024)}"}}`;
  await expect(enqueueStream(c, lines(long))).rejects.toMatchObject({
    code: "INVALID",
    message: "line 1: the line is too long for a task.",
  });
  expect(seen).toEqual([]);
});

it("passes other errors on unchanged", async () => {
  const { store: c } = fakeStore();
  const broken = async function* () {
    yield '{"type":"a"}';
    throw new TypeError("the pipe broke");
  };
  await expect(enqueueStream(c, broken())).rejects.toThrow(new TypeError("the pipe broke"));
});
