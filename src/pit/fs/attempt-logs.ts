import { isVivError } from "../../base/errors.ts";
import { isName } from "../../base/names.ts";
import { readRegular } from "../../queue/fs/files/atomic.ts";
import type { FsRun } from "../../queue/fs/fs-run.ts";

export interface AttemptLog {
  attempt: number;
  worker: string;
  /** In waste/. */
  name: string;
}

/** `record/artifacts/<id>.logs`: which log in waste/ belongs to which attempt; workers write it. */
export function logsOf(run: FsRun, id: string): AttemptLog[] {
  let text = "";
  try {
    text = readRegular(`${run.paths.artifacts}/${id}.logs`, 1024 * 1024)?.text ?? "";
  } catch (error) {
    if (!isVivError(error)) throw error; // a handler may write there too: then nothing is known
  }
  return text.split("\n").flatMap((line) => {
    const [attempt = "", worker = "", name = ""] = line.split(" ");
    return /^\d+$/.test(attempt) && isName(name)
      ? [{ attempt: Number(attempt), worker, name }]
      : [];
  });
}
