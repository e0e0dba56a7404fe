import { NO_ONE } from "../platform/git/merge-tree.ts";
import {
  branchesOf,
  type Candidate,
  candidatesAmong,
  repositoriesOf,
  waitsFor,
} from "./candidates.ts";
import type { Landing } from "./landing.ts";
import { combine, treeOf } from "./merge-commit.ts";
import { goesToForge, targetRequest } from "./queue.ts";
import { RightOfWay } from "./right-of-way.ts";
import type { MergeContext } from "./session.ts";
import { findTarget } from "./target.ts";

export type Planned = Pick<Landing, "state" | "target" | "reason" | "command" | "files"> & {
  candidate: Candidate;
};

/**
 * What a pass would try, in its order: nothing is proven, and nothing moves. `queued`: it merges; with a
 * reason, it waits for another.
 */
export async function planMerge(
  context: Pick<MergeContext, "store" | "settings" | "routeFor">,
  wanted: readonly string[] | null,
): Promise<Planned[]> {
  const { store, settings } = context;
  const all = branchesOf(store, wanted);
  const planned: Planned[] = [];
  for (const { repository, paths } of (await repositoriesOf(all)).found) {
    const branches = all.filter((one) => paths.has(one.repository));
    const due = await candidatesAmong(store, repository, branches);
    for (const candidate of due.filter((one) => goesToForge(settings, one))) {
      const target = settings.into ?? candidate.landing?.target ?? "";
      planned.push({ candidate, target, state: "pull_request" });
    }
    const candidates = due.filter((one) => !goesToForge(settings, one));
    if (candidates.length === 0) continue;
    const { tip, branch: target } = await findTarget(
      targetRequest(context, repository, candidates),
    );
    const place = { cwd: repository.path };
    let onto = tip;
    let ontoTree = await treeOf(tip, place);
    const merges = new Set<string>();
    const rightOfWay = new RightOfWay({
      ...{ context: { store, goAhead: new Set(wanted) }, repository, target: { branch: target } },
      due: new Set(candidates.map(({ id }) => id)),
    });
    for (const candidate of candidates) {
      const plan = (state: Planned["state"], more: Omit<Partial<Planned>, "state"> = {}) =>
        planned.push({ candidate, target, state, ...more });
      const { base, head } = candidate;
      if (head === null || head === base) {
        const reason = head === null ? `its branch ${candidate.branch} is gone` : undefined;
        if (head !== null) merges.add(candidate.id);
        plan(head === null ? "held" : "no_changes", { reason });
        continue;
      }
      const before = await waitsFor(store, repository, candidate, (id) => merges.has(id));
      const reason =
        before === null
          ? await rightOfWay.waitsFor(candidate)
          : `waits for ${before}, which has not landed`;
      if (reason !== null) {
        plan("queued", { reason });
        continue;
      }
      const { strategy } = settings;
      const isDependent = candidate.dependsOn.length > 0;
      const branch = { base, head, isDependent };
      const what = { repository, strategy, onto, ontoTree, ...branch, message: "dry run\n" };
      const merged = await combine({ ...what, signs: false, identity: NO_ONE }, null);
      if (merged.kind === "merged") {
        onto = merged.commit;
        ontoTree = merged.tree;
        merges.add(candidate.id);
        plan("queued");
      } else if (merged.kind === "empty") {
        merges.add(candidate.id);
        plan("no_changes", { reason: `${target} has its changes` });
      } else if (merged.kind === "conflict") {
        const { files } = merged;
        plan("conflict", { reason: files.join(", "), files });
      } else {
        const { reason, command } = merged;
        plan("held", { reason, command });
      }
    }
  }
  return planned;
}
