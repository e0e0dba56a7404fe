import { expect, test } from "vitest";
import { Syncs } from "./syncs.ts";

/** A disk that finishes a sync on request. */
function scene() {
  const begun: string[] = [];
  const ends: ((error?: Error) => void)[] = [];
  const syncs = new Syncs((path) => {
    begun.push(path);
    return new Promise((resolve, reject) => {
      ends.push((error) => (error ? reject(error) : resolve()));
    });
  });
  return { begun, ends, syncs };
}

test("calls during a sync share the next one", async () => {
  const { begun, ends, syncs } = scene();
  const first = syncs.of("a");
  const [second, third] = [syncs.of("a"), syncs.of("a")];
  const other = syncs.of("b");
  expect(begun).toEqual(["a", "b"]);
  ends[0]?.();
  await first;
  await Promise.resolve();
  expect(begun).toEqual(["a", "b", "a"]);
  ends[2]?.();
  await Promise.all([second, third]);
  ends[1]?.();
  await other;
  void syncs.of("a");
  expect(begun).toEqual(["a", "b", "a", "a"]);
});

test("a failed sync rejects its own callers only", async () => {
  const { begun, ends, syncs } = scene();
  const first = syncs.of("a");
  const second = syncs.of("a");
  ends[0]?.(new Error("EIO"));
  await expect(first).rejects.toThrow("EIO");
  await Promise.resolve();
  expect(begun).toHaveLength(2);
  ends[1]?.();
  await second;
});
