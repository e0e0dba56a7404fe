import { createHash } from "node:crypto";
import type { News } from "./news.ts";

/**
 * The name of the message about a fact to a target: it sorts by time, can be read in a listing, and
 * is the same in whichever process it is made.
 */
export function messageId({ fact, event, at, subject = "" }: News, target: string): string {
  const stamp = at.slice(0, 23).replace(/[-:.]/g, "");
  const about = subject.replace(/[^A-Za-z0-9._-]+/g, "_").slice(0, 40);
  const hash = createHash("sha256").update(`${fact}\n${target}`).digest("hex").slice(0, 10);
  return [stamp, event, about, target, hash].filter((part) => part !== "").join("-");
}
