import { vi } from "vitest";

/** How often other work of the process has its turn, where the time of a slice is over at each look. */
export async function turnsDuring(act: () => Promise<unknown>): Promise<number> {
  let now = 0;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => {
    now += 100;
    return now;
  });
  let turns = 0;
  let next = setImmediate(function turn() {
    turns++;
    next = setImmediate(turn);
  });
  try {
    await act();
  } finally {
    clearImmediate(next);
    clock.mockRestore();
  }
  return turns;
}
