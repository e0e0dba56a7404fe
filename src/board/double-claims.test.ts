import * as fc from "fast-check";
import { expect, test } from "vitest";
import { holds } from "../../test/support/property.ts";
import { type ClaimCommit, doubleClaims, type HistoryNode } from "./double-claims.ts";

const claim = (commit: string, agent: string, origin = commit): ClaimCommit => ({
  ...{ commit, slug: "a", agent, origin },
});
const nodes = (graph: Record<string, string>): HistoryNode[] =>
  Object.entries(graph).map(([commit, parents]) => ({
    commit,
    parents: parents.split(" ").filter((one) => one !== ""),
  }));
const found = (graph: Record<string, string>, claims: ClaimCommit[]) =>
  doubleClaims(nodes(graph), claims).map(({ claims, commit }) => [
    claims.map(({ agent }) => agent).join("+"),
    commit,
  ]);

test.each([
  ["two sides of a merge", { o: "", l: "o", r: "o", m: "l r" }, [["moss+wren", "m"]]],
  ["a line", { o: "", l: "o", r: "l" }, []],
  ["a branch that knew of the first", { o: "", l: "o", x: "l", r: "l", m: "x r" }, []],
  [
    "the second of two merges",
    { o: "", l: "o", r: "o", x: "o", m: "l x", n: "m r" },
    [["moss+wren", "n"]],
  ],
  ["two roots", { l: "", r: "", m: "l r" }, [["moss+wren", "m"]]],
] as [string, Record<string, string>, string[][]][])("%s", (_, graph, expected) => {
  expect(found(graph, [claim("l", "moss"), claim("r", "wren")])).toEqual(expected);
  expect(found(graph, [claim("l", "moss"), claim("r", "moss")])).toEqual([]);
});

test("an octopus names all of them", () => {
  const graph = { o: "", a: "o", b: "o", c: "o", m: "a b c" };
  const claims = [claim("a", "moss"), claim("b", "wren"), claim("c", "hale")];
  expect(found(graph, claims)).toEqual([["moss+wren+hale", "m"]]);
});

test("a copy of a claim is that claim: what came after the copy knew of it", () => {
  const graph = { o: "", l: "o", copy: "o", r: "copy", m: "r l" };
  const claims = [claim("l", "moss", "1"), claim("copy", "moss", "1"), claim("r", "wren")];
  expect(found(graph, claims)).toEqual([]);
});

test("is found exactly where neither claim is an ancestor of the other", () => {
  const graph = fc
    .array(fc.array(fc.nat(40), { minLength: 1, maxLength: 3 }), { minLength: 2, maxLength: 25 })
    .map((picks) =>
      picks.map((parents, at): HistoryNode => {
        const below = at === 0 ? [] : [...new Set(parents.map((one) => String(one % at)))];
        return { commit: String(at), parents: below };
      }),
    );
  const reaches = (all: HistoryNode[], from: string, to: string): boolean =>
    from === to || (all[Number(from)]?.parents ?? []).some((parent) => reaches(all, parent, to));
  holds(
    fc.property(graph, fc.nat(), fc.nat(), (all, x, y) => {
      const [a, b] = [String(x % all.length), String(y % all.length)];
      if (a === b) return;
      // One merge above all: whatever is a tip belongs to the same history.
      const head = { commit: "head", parents: [...all.map(({ commit }) => commit), a, b] };
      const isDouble = !reaches(all, a, b) && !reaches(all, b, a);
      const claims = [claim(a, "moss"), claim(b, "wren")];
      const doubles = doubleClaims([...all, head], claims);
      expect(doubles.length).toBe(isDouble ? 1 : 0);
      for (const { commit } of doubles) {
        const joins = all.filter(
          (one) => reaches(all, one.commit, a) && reaches(all, one.commit, b),
        );
        expect(commit).toBe(joins[0]?.commit ?? "head");
      }
    }),
  );
});

test("a task with 1200 claims among merges is read at once", () => {
  // A walk through the history for each pair of claims would take longer than a test may.
  const graph: Record<string, string> = { m0: "" };
  const claims: ClaimCommit[] = [];
  for (let i = 1; i <= 1200; i++) {
    Object.assign(graph, {
      [`a${i}`]: `m${i - 1}`,
      [`b${i}`]: `m${i - 1}`,
      [`m${i}`]: `a${i} b${i}`,
    });
    claims.push(claim(`a${i}`, i % 2 === 0 ? "moss" : "wren"));
  }
  expect(found(graph, claims)).toEqual([]);
});
