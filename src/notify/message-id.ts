import { createHash } from "node:crypto";
import type { News } from "./news.ts";

/**
 * The name of the message about a fact to a target: it can be read in a listing, and is the same in
 * whichever process it is made, and whenever.
 */
export function messageId({ fact, event, subject = "" }: News, target: string): string {
  const about = subject.replace(/[^A-Za-z0-9._-]+/g, "_").slice(0, 40);
  const hash = createHash("sha256").update(`${fact}\n${target}`).digest("hex").slice(0, 16);
  return [event, about, target, hash].filter((part) => part !== "").join("-");
}
