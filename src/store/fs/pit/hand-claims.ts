import { existsSync } from "node:fs";
import { isName } from "../../../model/names.ts";
import { overwrite, readRegular } from "../atomic.ts";
import { claimedTasks } from "../claimed.ts";
import { reserveId } from "../ids.ts";
import { idLinkOf } from "../layout.ts";
import { type FsRun, record } from "../run.ts";

/**
 * Claims that a snake made with `mv`, of food that no process of ours had seen. Its link in ids/
 * keeps the food when the snake removes its claim, as the protocol tells it to; `.viv/hand/<id>`
 * keeps whose it was.
 */
export function noticeHandClaims(run: FsRun): void {
  for (const { id, worker, path } of claimedTasks(run.paths)) {
    if (!isName(id)) continue;
    const isNew = !existsSync(idLinkOf(run.paths, id));
    if (isNew) reserveId(run, id, path);
    if (existsSync(`${run.paths.workers}/${worker}.json`) || snakeOf(run, id) === worker) continue;
    overwrite(`${run.paths.viv}/hand/${id}`, worker);
    if (isNew) record(run, { event: "adopted", task: id, worker, to: "claimed" });
  }
}

/** The last snake that was seen with it, if that was one with nothing but a shell. */
export function snakeOf(run: FsRun, id: string): string | null {
  return readRegular(`${run.paths.viv}/hand/${id}`, 256)?.text ?? null;
}
