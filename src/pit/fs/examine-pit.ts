import type { ProcessIdentity } from "../../base/clock.ts";
import { parseRecord } from "../../base/json.ts";
import type { Examination } from "../../queue/fs/doctor/examination.ts";
import type { Places } from "../../queue/fs/doctor/places.ts";
import { namesIn, readDerived, statIfThere } from "../../queue/fs/files/atomic.ts";
import { fileOf } from "../../queue/fs/layout.ts";
import { foodsByNumber } from "../food-names.ts";
import { countUnknown, handResults } from "./hand-results.ts";

/** Faults that only a pit can have. */
export async function checkPit(examination: Examination, places: Places): Promise<void> {
  const { run, find } = examination;
  await checkServices(examination);
  for (const { number, foods } of foodsByNumber(places.keys())) {
    await find({
      code: "same_number",
      path: foods.join(", "),
      message: `${foods.length} foods have the number ${number}; each is eaten for itself`,
      repair: "none needed; rename one while it waits in food/, if that confuses",
    });
  }
  for (const { id, state, ready } of handResults(run)) {
    if (state !== "unknown" || !ready) continue;
    await find(
      {
        code: "orphan_result",
        path: `done/${id}.result.md`,
        message: "a result by hand for food that was never seen here, so that nothing can prove it",
        repair: "enter it into the books as eaten, not proven",
      },
      async () => {
        await countUnknown(run);
        return statIfThere(fileOf(run.paths, "done", id)) !== undefined;
      },
    );
  }
}

/** `.viv/up/`, written by `viv up`: a worker whose service was killed goes on with its food. */
async function checkServices({ run, find }: Examination): Promise<void> {
  const read = (name: string) =>
    parseRecord(readDerived(`${run.paths.viv}/up/${name}.json`, 256 * 1024)?.text ?? "");
  const isIn = (record: Record<string, unknown> | null) =>
    isIdentity(record) && run.machine.vitality(record) === "alive";
  const report = (name: unknown, pid: number, file: string, atOnce: string) =>
    find({
      code: "left_over_worker",
      path: `.viv/up/${file}`,
      message: `${name} (pid ${pid}) still runs, though its viv up is gone`,
      repair: `none needed: it ends after its food, or at once with: ${atOnce}`,
    });
  const service = read("service");
  const isUp = isIn(service);
  for (const file of isUp ? [] : namesIn(`${run.paths.viv}/up`)) {
    const name = file.endsWith(".json") ? file.slice(0, -".json".length) : "service";
    const agent = name === "service" ? null : read(name);
    if (isIn(agent)) await report(name, Number(agent?.pid), file, "viv down --now");
  }
  // What services before this one have left.
  for (const one of Array.isArray(service?.left) ? service.left : []) {
    if (!isIn(one)) continue;
    const atOnce = isUp ? `kill -TERM ${one.pid}` : "viv down --now";
    await report(one.name, one.pid, "service.json", atOnce);
  }
}

function isIdentity(record: unknown): record is ProcessIdentity {
  const { pid, started, boot, host } = (record ?? {}) as Partial<ProcessIdentity>;
  const isText = [started, boot, host].every((one) => typeof one === "string");
  return Number.isSafeInteger(pid) && isText;
}
