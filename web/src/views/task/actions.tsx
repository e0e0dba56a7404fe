import { useState } from "preact/hooks";
import type { MergeOutput } from "../../../../src/merge/operations.ts";
import { refreshResources } from "../../live/resource.ts";
import { act, commandOf, once } from "../../shell/act.ts";
import { ask } from "../../shell/ask.tsx";
import { useKeys } from "../../shell/keys.tsx";
import type { Toast } from "../../shell/toasts.tsx";
import type { Shown } from "./use-task.ts";

interface Action {
  label: string;
  key?: string;
  command: string;
  kind?: "primary" | "quiet";
  run: () => Promise<unknown>;
}

/** What a person can do with the task now, each with its key and its command. */
export function Actions({ task }: { task: Shown }) {
  const [isRunning, setRunning] = useState(false);
  const actions = actionsFor(task);
  const run = async (action: Action) => {
    if (isRunning) return;
    setRunning(true);
    try {
      await action.run();
    } finally {
      setRunning(false);
      refreshResources("/api/");
    }
  };
  useKeys(
    actions
      .filter(({ key }) => key !== undefined)
      .map((one) => ({ keys: [one.key ?? ""], label: one.label, run: () => void run(one) })),
  );
  if (actions.length === 0) return null;
  return (
    <div class="acts">
      {actions.map((one, at) => (
        <button
          key={one.label}
          type="button"
          class={`btn ${one.kind ?? ""}`}
          style={one.kind === "quiet" && at > 0 ? { marginLeft: "auto" } : undefined}
          title={one.command}
          aria-disabled={isRunning}
          onClick={once(() => run(one))}
        >
          {one.label}
          {one.key && <kbd class="desk">{one.key.toUpperCase()}</kbd>}
        </button>
      ))}
    </div>
  );
}

function actionsFor(task: Shown): Action[] {
  const { id, state, unproven, landing } = task;
  const canMerge = landing !== undefined && landing.code === "not_landed";
  if (state === "review") {
    return [
      ...(landing ? [{ ...approving(id, unproven, true), kind: "primary" as const }] : []),
      { ...approving(id, unproven, false), ...(landing ? {} : { kind: "primary" as const }) },
      rejecting(id),
      cancelling(id),
    ];
  }
  if (state === "failed" || state === "cancelled") return [retrying(id)];
  if (state === "claimed") return [releasing(task), cancelling(id)];
  if (state === "done") return canMerge ? [{ ...merging(id), kind: "primary" }] : [];
  return state === "quarantined" ? [] : [cancelling(id)];
}

function approving(id: string, unproven: string | undefined, andMerge: boolean): Action {
  const input = { ids: [id], ...(unproven ? { unproven: true } : {}) };
  const command = commandOf("approve", input);
  return {
    label: andMerge ? "Approve and merge" : "Approve",
    key: andMerge ? "m" : "a",
    command: andMerge ? `${command} && viv merge ${id}` : command,
    run: async () => {
      if (unproven) {
        const text = `Its work is not proven: ${unproven}. The record will say so.`;
        const yes = "Approve unproven";
        if (
          (await ask({
            title: `Approve ${id} without a proof?`,
            text,
            yes,
            isDangerous: true,
            command: () => command,
          })) === null
        )
          return;
      }
      const answer = await act("approve", input, { said: `${id} approved.` });
      if (answer !== null && andMerge) await merging(id).run();
    },
  };
}

function merging(id: string): Action {
  return {
    ...{ label: "Merge", key: "m", command: `viv merge ${id}` },
    run: () =>
      act<MergeOutput>("merge", { ids: [id] }, { said: (answer) => landingOf(id, answer) }),
  };
}

/** What became of it, in the merge queue's own words. */
function landingOf(id: string, { landings }: MergeOutput): Toast {
  const row = landings.find((one) => one.id === id);
  const { landing, target = "its target", commit, reason } = row ?? {};
  if (landing === "landed") {
    return { text: `${id} landed in ${target}${commit ? ` as ${commit.slice(0, 10)}` : ""}.` };
  }
  if (landing === "queued") return { text: `${id} is in the queue for ${target}.` };
  const word = (landing ?? "not landed").replace("_", " ").replace("reworked", "sent back");
  return { text: `${id}: ${word}${reason ? `, ${reason}` : ""}`, isBad: landing !== "no_changes" };
}

function rejecting(id: string): Action {
  return {
    ...{ label: "Reject…", key: "r", command: `viv reject ${id} --note "…"` },
    run: async () => {
      const note = await ask({
        title: `Send ${id} back`,
        text: "The next attempt reads your note.",
        ...{ note: "What must the next attempt do better?", needsNote: true, yes: "Reject" },
        command: (given) => commandOf("reject", { ids: [id], note: given || "…" }),
      });
      if (note !== null) await act("reject", { ids: [id], note }, { said: `${id} sent back.` });
    },
  };
}

function retrying(id: string): Action {
  return {
    ...{ label: "Retry…", key: "r", command: `viv retry ${id}`, kind: "primary" },
    run: async () => {
      const note = await ask({
        title: `Retry ${id}`,
        text: "It goes back to the queue; earlier attempts no longer count against it.",
        ...{ note: "A note for the next attempt, if you like", yes: "Retry" },
        command: (given) => commandOf("retry", { ids: [id], note: given || undefined }),
      });
      if (note !== null) {
        await act(
          "retry",
          { ids: [id], note: note || undefined },
          { said: `${id} is queued again.` },
        );
      }
    },
  };
}

function releasing({ id, worker, token }: Shown): Action {
  const input = { id, worker, token };
  const command = `viv release ${id} --worker ${worker ?? "…"}`;
  return {
    ...{ label: "Release", command },
    run: async () => {
      const text = `${worker ?? "Its worker"} loses the claim, and what it has done in this attempt may be lost. The task goes back to the queue.`;
      const answer = await ask({
        title: `Release ${id}?`,
        text,
        yes: "Release",
        isDangerous: true,
        command: () => command,
      });
      if (answer !== null) await act("release", input, { said: `${id} released.`, command });
    },
  };
}

function cancelling(id: string): Action {
  return {
    ...{ label: "Cancel", key: "x", command: `viv cancel ${id}`, kind: "quiet" },
    run: async () => {
      const note = await ask({
        title: `Cancel ${id}?`,
        text: "It stops for good, and what depends on it cannot go on. viv retry brings it back.",
        ...{
          note: "A note for the record, if you like",
          yes: "Cancel the task",
          isDangerous: true,
        },
        command: (given) => commandOf("cancel", { ids: [id], note: given || undefined }),
      });
      if (note !== null) {
        await act("cancel", { ids: [id], note: note || undefined }, { said: `${id} cancelled.` });
      }
    },
  };
}
