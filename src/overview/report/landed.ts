import { quoted } from "../../base/text.ts";
import type { Landing } from "../../merge/landing.ts";
import type { Landed, LedgerDigest } from "./ledger-digest.ts";
import type { ReportPort } from "./report-port.ts";
import type { Report } from "./report-shape.ts";

type LandedTask = Landed & { task: string };

/** Landed in the period: by the ledger, or by the task's own file after a crash between the two. */
export async function landedIn(
  digest: LedgerDigest,
  landings: readonly Landing[],
  since: string,
  port: Pick<ReportPort, "commitsNotIn">,
): Promise<Omit<Report["landed"], "waiting">> {
  const recorded: LandedTask[] = [];
  for (const [task, { landed }] of digest.tasks) {
    if (landed && !(landed.at < since)) recorded.push({ task, ...landed });
  }
  const filed: LandedTask[] = landings
    .filter(({ state }) => state === "landed")
    .map(({ task, at, target, repository, to = null }) => ({
      task,
      at,
      target,
      repository,
      commit: to,
    }));
  const landed = [...recorded, ...filed].filter((one) => !(one.at < since));
  const groups = new Map<string, LandedTask[]>();
  for (const one of landed) {
    const key = JSON.stringify([one.repository, one.target]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [one]);
    else group.push(one);
  }
  const targets: Report["landed"]["targets"] = [];
  const lost: string[] = [];
  for (const tasks of groups.values()) {
    const { repository = null, target = "" } = tasks[0] ?? {};
    const to: Report["landed"]["targets"][number] = { repository, target, count: tasks.length };
    targets.push(to);
    const commits = tasks.flatMap(({ commit }) => commit ?? []);
    if (repository === null || commits.length === 0) continue;
    const isOwn = target.startsWith("viv/");
    if (isOwn && (await port.commitsNotIn(repository, null, commits)).length > 0) {
      to.command = `git -C ${quoted(repository)} merge ${target}`;
    }
    const gone = new Set(await port.commitsNotIn(repository, target, commits));
    lost.push(...tasks.filter(({ commit }) => commit && gone.has(commit)).map(({ task }) => task));
  }
  return { count: landed.length, targets: targets.sort((a, b) => b.count - a.count), lost };
}
