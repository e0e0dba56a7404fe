import { VivError } from "../../base/errors.ts";

/** The pit that a command was given as its first word, or else with --run. */
export function pitFrom(
  input: Record<string, unknown>,
  run: string | undefined,
): string | undefined {
  if (typeof input.pit !== "string") return run;
  if (run !== undefined) throw new VivError("USAGE", "say which pit once, as PIT or as --run.");
  return input.pit;
}
