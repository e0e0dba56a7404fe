import { troubleOf } from "../../base/errno.ts";
import { assertName } from "../../base/names.ts";
import type { Proof } from "../proof.ts";
import { readRegular } from "./atomic.ts";
import type { FsRun } from "./run.ts";

const LIMIT = 1024 * 1024;

/** What the worker kept of `done_when`; null when there is none that could be read. */
export function readProof(run: FsRun, rawId: string): Proof | null {
  const id = assertName("task id", rawId);
  try {
    const file = readRegular(`${run.paths.artifacts}/${id}.proof.json`, LIMIT);
    return file && (JSON.parse(file.text) as Proof);
  } catch (error) {
    if (troubleOf(error) !== undefined) throw error;
    return null; // a handler may write there too: what is no proof proves nothing
  }
}
