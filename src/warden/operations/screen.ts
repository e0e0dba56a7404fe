import * as z from "zod/mini";
import { defineOperation } from "../../operation/operation.ts";
import { findWarrant, stateFlag, wardenPlace } from "./warden-place.ts";

/** So many lines a person sees at once. */
const MOST_LINES = 60;

/** Only looks: nothing is typed, and nothing is written. */
export const warrantScreen = defineOperation({
  name: "warrant screen",
  summary: "the screen of a warrant's target as it is now; without a terminal, the end of its log",
  input: z.strictObject({
    id: z.string().check(z.describe("id of the warrant (or its dog)")),
    state: stateFlag,
  }),
  changes: () => false,
  output: z.object({
    id: z.string(),
    target: z.string(),
    /** `screen`: its terminal. `log`: its log. `receipt`: as it was at the end. `none`: `why` says it. */
    source: z.enum(["screen", "log", "receipt", "none"]),
    /** The log's path. */
    path: z.nullable(z.string()),
    why: z.nullable(z.string()),
    lines: z.array(z.string()),
    at: z.string(),
  }),
  async run(context, { id, state }) {
    const place = await wardenPlace(context, state);
    const found = findWarrant(place, id);
    const { warrant } = found;
    const head = { id: warrant.id, target: warrant.target };
    const at = new Date(context.now()).toISOString();
    if (found.state === "over" && found.receipt) {
      const { screen_after, screen_before, ended_at } = found.receipt;
      const lines = last(screen_after.length > 0 ? screen_after : screen_before);
      return { ...head, source: "receipt" as const, path: null, why: null, lines, at: ended_at };
    }
    // A dog has found out whom it asks: not another that has the name by now.
    const bound = found.state === "dancing" ? (found.dance.bound ?? warrant.bound) : warrant.bound;
    const seen = await place.ports.look({ ...warrant, bound }, place.files);
    const none = { ...head, source: "none" as const, path: null, lines: [], at };
    if (seen.is !== "there") return { ...none, why: seen.why };
    if (seen.screen.length > 0) {
      const lines = last(seen.screen);
      return { ...head, source: "screen" as const, path: null, why: null, lines, at };
    }
    if (seen.log === null) return { ...none, why: "it has no terminal, and no log that is known" };
    const { path, lines } = seen.log;
    return { ...head, source: "log" as const, path, why: null, lines: last(lines), at };
  },
});

function last(lines: readonly string[]): string[] {
  const end = lines.findLastIndex((line) => line.trim() !== "") + 1;
  return lines.slice(Math.max(0, end - MOST_LINES), end);
}
