import { describe, expect, it } from "vitest";
import { MergeWorld } from "../../test/support/merge-world.ts";

describe("a pass of the queue", () => {
  it("lands done tasks in order, each proven after its merge, into the run's own branch", async () => {
    const world = await MergeWorld.begin();
    await world.done("t.1", { "b.txt": "b\n" }, { done_when: "test -f b.txt" });
    await world.done("t.2", { "c.txt": "c\n" }, { done_when: "test -f b.txt && test -f c.txt" });
    const main = world.git("rev-parse", "main");
    await world.merge({ prove: "ls; echo checked" });
    expect(world.story).toEqual(["t.1 landed", "t.2 landed"]);
    expect(world.git("rev-parse", "main")).toBe(main);
    expect(world.file("viv/night", "b.txt") + world.file("viv/night", "c.txt")).toBe("bc");
    const landing = world.landing("t.2");
    expect(landing).toMatchObject({ target: "viv/night", strategy: "merge" });
    expect(landing?.to).toBe(world.git("rev-parse", "viv/night"));
    expect(landing?.proof?.commands).toEqual([
      "test -f b.txt && test -f c.txt",
      "ls; echo checked",
    ]);
    expect(world.log("t.2")).toMatch(
      /merged into viv\/night[\s\S]*\$ ls; echo checked\n[\s\S]*checked\n/,
    );
    expect(world.git("log", "-1", "--format=%P", "viv/night").split(" ")[1]).toBe(
      world.git("rev-parse", "viv/t.2"),
    );
    const lines = await world.ledger("landed");
    expect(lines.map(({ task, commit }) => [task, commit])).toEqual([
      ["t.1", world.landing("t.1")?.to],
      ["t.2", landing?.to],
    ]);
    expect(lines[1]).toMatchObject({ target: "viv/night", repository: world.repo });
    await world.merge();
    expect(await world.ledger("landed")).toHaveLength(2);
  });
});
