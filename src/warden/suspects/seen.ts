import { statSync } from "node:fs";
import { tailOf } from "../../platform/files/tail.ts";
import type { Seen } from "../warden-host.ts";
import type { Warrant } from "../warrant.ts";
import type { Suspects } from "./suspect.ts";

const LOG_BYTES = 32 * 1024;

/** One look at the target of a warrant, for a person. */
export async function seenBy(suspects: Suspects, warrant: Warrant): Promise<Seen> {
  const found = await suspects.find(warrant);
  if (found.is !== "there") return { is: found.is, why: found.why };
  try {
    const look = await found.suspect.look();
    if (look.is !== "there") return { is: look.is, why: look.why };
    return { is: "there", screen: look.screen, log: lastLog(Object.keys(look.files)) };
  } finally {
    found.suspect.close();
  }
}

/** The end of the file that was written last. */
function lastLog(paths: readonly string[]): { path: string; lines: string[] } | null {
  const writtenAt = (path: string) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const [path] = [...paths].sort((a, b) => writtenAt(b) - writtenAt(a));
  if (path === undefined) return null;
  const text = tailOf(path, LOG_BYTES);
  return { path, lines: text.replace(/\n$/, "").split("\n") };
}
