import { describe, expect, it } from "vitest";
import { NOW, snapshotOf, taskRow } from "../../../test/support/top-snapshots.ts";
import { type Effect, type Model, newModel, selected, tasksOf, update } from "./model.ts";
import { frame } from "./render.ts";
import { shownTasks } from "./rows.ts";
import type { Snapshot, TaskRow } from "./snapshot.ts";

const TASKS: TaskRow[] = [
  taskRow("t.1", "claimed", { worker: "ada", title: "Repair the roof" }),
  taskRow("t.2", "failed"),
  taskRow("t.3", "pending", { type: "audit" }),
  taskRow("t.4", "waiting", { above: ["t.9", "t.3"] }),
  taskRow("t.5", "waiting", { above: ["t.4"] }),
];

function begun(tasks = TASKS, size = { columns: 80, rows: 24 }): Model {
  return update(newModel(size), { kind: "snapshot", snapshot: snapshotOf({ tasks }) })[0];
}

/** After these keys, with the effects of the last. */
function pressed(model: Model, ...keys: string[]): { model: Model; effects: readonly Effect[] } {
  let effects: readonly Effect[] = [];
  let at = model;
  for (const key of keys) [at, effects] = update(at, { kind: "key", key });
  return { model: at, effects };
}

const next = (model: Model, snapshot: Snapshot) => update(model, { kind: "snapshot", snapshot })[0];

describe("the cursor", () => {
  it("moves, stays on the list, and pages", () => {
    const { model } = pressed(begun(), "down", "j");
    expect(selected(model)).toBe("t.3");
    expect(selected(pressed(model, "k").model)).toBe("t.2");
    expect(selected(pressed(model, ...Array(9).fill("up")).model)).toBe("t.1");
    expect(selected(pressed(model, "pagedown").model)).toBe("t.5");
    expect(selected(pressed(model, "end", "home").model)).toBe("t.1");
  });

  it("stays on its task while others come and go, and on its place when that is gone", () => {
    const { model } = pressed(begun(), "down", "down");
    const more = [taskRow("t.0", "claimed"), ...TASKS];
    expect(selected(next(model, snapshotOf({ tasks: more })))).toBe("t.3");
    const fewer = TASKS.filter(({ id }) => id !== "t.3");
    expect(selected(next(model, snapshotOf({ tasks: fewer })))).toBe("t.4");
    expect(selected(next(model, snapshotOf({ tasks: [] })))).toBeNull();
    // On the first row, until it is moved: there the newest comes.
    expect(selected(next(begun(), snapshotOf({ tasks: more })))).toBe("t.0");
  });

  it("is where it was in a tab that is come back to", () => {
    const { model } = pressed(begun(), "down", "down", "tab");
    expect(selected(pressed(model, "tab", "tab", "tab").model)).toBe("t.3");
  });

  it("is always on the screen", () => {
    const tasks = Array.from({ length: 100 }, (_, i) => taskRow(`t.${i}`, "pending"));
    const low = begun(tasks, { columns: 80, rows: 10 });
    const { model } = pressed(low, ...Array(50).fill("down"));
    const { index, top } = model.cursor;
    expect(index).toBe(50);
    expect(top).toBe(50 - 5 + 1);
    const [higher] = update(model, { kind: "size", size: { columns: 80, rows: 60 } });
    expect(higher.cursor.top).toBeLessThanOrEqual(50);
  });
});

describe("filter, search and sort", () => {
  it("filters by all words while they are typed; Esc brings back what was", () => {
    const { model } = pressed(begun(), "f4", ..."ROOF ad");
    expect(tasksOf(model).map(({ id }) => id)).toEqual(["t.1"]);
    expect(tasksOf(pressed(model, "escape").model)).toHaveLength(5);
    const kept = pressed(model, "enter").model;
    expect(kept.prompt).toBeNull();
    expect(tasksOf(kept)).toHaveLength(1);
    expect(tasksOf(pressed(kept, "escape").model)).toHaveLength(5);
    expect(tasksOf(pressed(begun(), "\\", ..."working").model)).toHaveLength(1);
  });

  it("searches from the cursor on, around the end", () => {
    const { model } = pressed(begun(), "/", ..."t.4", "enter");
    expect(selected(model)).toBe("t.4");
    const audit = pressed(model, "/", ..."audit", "enter").model;
    expect(selected(audit)).toBe("t.3");
    expect(pressed(audit, "/", ..."nope", "enter").model.notice).toMatchObject({ isError: true });
  });

  it("says of how many tasks that none is found, where not all are listed", () => {
    const more = next(begun(), snapshotOf({ tasks: TASKS, more: 19_000 }));
    const { notice } = pressed(more, "/", ..."q.7", "enter").model;
    expect(notice?.text).toMatch(
      /^none of the 5 listed of 19,005 tasks has "q\.7"; try: viv show ID$/,
    );
    const lines = frame(pressed(more, "f4", ..."q.7").model, NOW, false).map(
      ([first]) => first?.text,
    );
    expect(lines.join("\n")).toContain("none of the 5 listed of 19,005 tasks has all words");
    expect(pressed(begun(), "/", ..."q.7", "enter").model.notice?.text).toBe('no row has "q.7"');
  });

  it("sorts by each column, and back", () => {
    expect(pressed(begun(), "f6").model.sort).toBe("age");
    expect(pressed(begun(), ">", "<").model.sort).toBe("state");
    expect(pressed(begun(), "<").model.sort).toBe("worker");
    const ids = (model: Model) => tasksOf(model).map(({ id }) => id);
    expect(ids(pressed(begun(), ">", ">", "I").model)).toEqual(["t.5", "t.4", "t.3", "t.2", "t.1"]);
  });

  it("shows a tree: each task below what it waits for, also in a ring", () => {
    const rows = tasksOf(pressed(begun(), "f5").model);
    expect(rows.map(({ branch, id }) => `${branch}${id}`)).toEqual([
      "t.1",
      "t.2",
      "t.3",
      "└─t.4",
      "  └─t.5",
    ]);
    const ring = [
      taskRow("a", "waiting", { above: ["b"] }),
      taskRow("b", "waiting", { above: ["a"] }),
    ];
    const choice = { filter: "", sort: "state", isReversed: false, isTree: true } as const;
    expect(shownTasks(ring, choice).map(({ id }) => id)).toEqual(["a", "b"]);
  });
});

describe("actions", () => {
  it("are asked back, and only y does them", () => {
    const asked = pressed(begun(), "down", "r");
    expect(asked.model.confirm).toEqual({ verb: "retry", ids: ["t.2"] });
    expect(asked.effects).toEqual([]);
    expect(pressed(asked.model, "n").model.confirm).toBeNull();
    expect(pressed(asked.model, "z").model.confirm).not.toBeNull();
    const action = { verb: "retry", ids: ["t.2"] };
    expect(pressed(asked.model, "y").effects).toEqual([{ kind: "act", action }]);
  });

  it("are for the task that was asked about, though the list moves meanwhile", () => {
    const { model } = pressed(begun(), "f9");
    const moved = next(model, snapshotOf({ tasks: TASKS.slice(2) }));
    expect(pressed(moved, "y").effects).toMatchObject([{ action: { ids: ["t.1"] } }]);
  });

  it("are for all tagged tasks", () => {
    const { model } = pressed(begun(), " ", " ", "x");
    expect(model.confirm).toEqual({ verb: "cancel", ids: ["t.1"] });
    expect(pressed(begun(), " ", "j", " ", "x").model.confirm?.ids).toEqual(["t.1", "t.3"]);
    expect(pressed(model, "y").model.tagged.size).toBe(0);
    expect(pressed(begun(), " ", "U", "r").model.confirm).toEqual({ verb: "retry", ids: ["t.2"] });
  });

  it("are offered only where they are possible, and say why not", () => {
    const done = begun([
      taskRow("v.3", "done"),
      taskRow("v.4", "cancelled"),
      taskRow("v.5", "review"),
    ]);
    const { confirm, notice } = pressed(done, "r").model;
    expect(confirm).toBeNull();
    expect(notice?.text).toMatch(/^v\.\d \(\w+\) cannot be retried$/);
    const verbs = (id: string) =>
      ["x", "r", "a"].map((key) => {
        const { model } = pressed(done, "/", ...id, "enter", key);
        return model.confirm?.verb ?? model.notice?.text;
      });
    expect(verbs("v.3")).toEqual(
      ["cancelled", "retried", "approved"].map((word) => `v.3 (done) cannot be ${word}`),
    );
    expect(verbs("v.4").slice(1)).toEqual(["retry", "v.4 (cancelled) cannot be approved"]);
    expect(verbs("v.5")).toEqual(["cancel", "v.5 (review) cannot be retried", "approve"]);
  });

  it("pause and resume the run", () => {
    expect(pressed(begun(), "p").model.confirm?.verb).toBe("pause");
    const paused = next(begun(), snapshotOf({ paused: { by: "ada", at: "2026-11-18T00:00:00Z" } }));
    expect(pressed(paused, "p").model.confirm?.verb).toBe("resume");
  });

  it("do nothing where there is no task", () => {
    expect(pressed(begun([]), "x", "r", "a", "enter", " ").model).toMatchObject({
      confirm: null,
      overlay: null,
    });
    expect(pressed(begun(), "tab", "x").model.confirm).toBeNull();
  });
});

it("quits, stops and draws anew from wherever it is", () => {
  for (const first of ["f1", "enter", "f4", "x"]) {
    expect(pressed(begun(), first, "ctrl-c").effects).toEqual([{ kind: "quit" }]);
    expect(pressed(begun(), first, "ctrl-z").effects).toEqual([{ kind: "suspend" }]);
  }
  for (const key of ["q", "f10"]) expect(pressed(begun(), key).effects).toEqual([{ kind: "quit" }]);
  expect(pressed(begun(), "f1", "q").effects).toEqual([]);
});
