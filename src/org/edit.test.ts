import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holds } from "../../test/support/property.ts";
import {
  appendLogLine,
  insertHeading,
  type OrgEdit,
  patch,
  removeProperty,
  setProperty,
  setTodo,
} from "./edit.ts";
import { type OrgDocument, type OrgHeading, propertyOf, scanOrg, statesOf } from "./org.ts";

type Change = (org: OrgDocument, heading: OrgHeading) => OrgEdit[];
const at = (org: OrgDocument, index: number) => org.headings[index] as OrgHeading;

function changed(text: string, index: number, change: Change): string {
  const org = scanOrg(text);
  return patch(text, change(org, at(org, index)));
}

const agent: Change = (org, h) => setProperty(org, h, "AGENT", "moss");
const noAgent: Change = (_, h) => removeProperty(h, "agent");
const log: Change = (org, h) => appendLogLine(org, h, "claimed\nby moss");
const todo =
  (state: string): Change =>
  (_, h) =>
    setTodo(h, state);
const child: Change = (org, h) => insertHeading(org, h, h.level + 1, "TODO new", ["words"]);
const sibling: Change = (org, h) => insertHeading(org, h, h.level, "new");

describe("a change", () => {
  test.each<[string, string, Change, string]>([
    ["a new drawer", "* a\nx\n", agent, "* a\n:PROPERTIES:\n:AGENT: moss\n:END:\nx\n"],
    ["at the end", "* a", agent, "* a\n:PROPERTIES:\n:AGENT: moss\n:END:"],
    [
      "below the plan, CRLF",
      "* a\r\nDEADLINE: <x>\r\nx",
      agent,
      "* a\r\nDEADLINE: <x>\r\n:PROPERTIES:\r\n:AGENT: moss\r\n:END:\r\nx",
    ],
    [
      "an old drawer, aligned",
      "* a\n  :PROPERTIES:\n  :X:       1\n  :YY:      2\n  :END:\n",
      agent,
      "* a\n  :PROPERTIES:\n  :X:       1\n  :YY:      2\n  :AGENT:   moss\n  :END:\n",
    ],
    [
      "an old drawer, not aligned",
      "* a\n:PROPERTIES:\n:LONGER: 1\n:END:\n",
      agent,
      "* a\n:PROPERTIES:\n:LONGER: 1\n:AGENT: moss\n:END:\n",
    ],
    [
      "as elsewhere in the file",
      "* a\n** b\n   :PROPERTIES:\n   :X:       1\n   :END:\n",
      agent,
      "* a\n  :PROPERTIES:\n  :AGENT:   moss\n  :END:\n** b\n   :PROPERTIES:\n   :X:       1\n   :END:\n",
    ],
    [
      "only the value",
      "* a\n:PROPERTIES:\n:agent:   wren \n:END:\n",
      agent,
      "* a\n:PROPERTIES:\n:agent:   moss \n:END:\n",
    ],
    [
      "an empty value",
      "* a\n:PROPERTIES:\n:AGENT:\n:END:\n",
      agent,
      "* a\n:PROPERTIES:\n:AGENT: moss\n:END:\n",
    ],
    ["removed with its drawer", "* a\n:PROPERTIES:\n:AGENT: x\n\n:END:\nx", noAgent, "* a\nx"],
    [
      "removed wherever it is",
      "* a\n:PROPERTIES:\n:AGENT: x\n:B: 1\n:agent: y\n:END:\n",
      noAgent,
      "* a\n:PROPERTIES:\n:B: 1\n:END:\n",
    ],
    [
      "removed, but not what else is there",
      "* a\n:PROPERTIES:\n:AGENT: x\nhello\n:END:\n",
      noAgent,
      "* a\n:PROPERTIES:\nhello\n:END:\n",
    ],
    ["removed where there is none", "* a\n", noAgent, "* a\n"],
    ["a new logbook", "* a\n", log, "* a\n:LOGBOOK:\n- claimed by moss\n:END:\n"],
    [
      "a new logbook behind the properties",
      "* a\n :PROPERTIES:\n :X: 1\n :END:\nx",
      log,
      "* a\n :PROPERTIES:\n :X: 1\n :END:\n :LOGBOOK:\n - claimed by moss\n :END:\nx",
    ],
    [
      "an old logbook",
      "* a\nx\n:LOGBOOK:\n- first\n:END:",
      log,
      "* a\nx\n:LOGBOOK:\n- first\n- claimed by moss\n:END:",
    ],
    ["another state", "* TODO  a :t:\n", todo("DONE"), "* DONE  a :t:\n"],
    ["a first state", "* [#A] a\n", todo("DONE"), "* DONE [#A] a\n"],
    ["a first state without a title", "* ", todo("DONE"), "* DONE"],
    ["the same state", "* TODO a\n", todo("TODO"), "* TODO a\n"],
    ["a child", "* a\n** b\n* c\n", child, "* a\n** b\n** TODO new\nwords\n* c\n"],
    ["a child at the end", "* a", child, "* a\n** TODO new\nwords"],
    ["a child, CRLF", "* a\r\n", child, "* a\r\n** TODO new\r\nwords\r\n"],
    ["a sibling", "* a\n** b\n* c\n", sibling, "* a\n** b\n* new\n* c\n"],
    ["a sibling, apart", "* a\n\n* c\n", sibling, "* a\n\n* new\n\n* c\n"],
  ])("%s", (_, before, change, after) => expect(changed(before, 0, change)).toBe(after));

  test("a heading of a higher level does not take the children of another", () => {
    const up: Change = (org, h) => insertHeading(org, h, 1, "new");
    expect(changed("* a\n** b\n** c\n* d\n", 1, up)).toBe("* a\n** b\n** c\n* new\n* d\n");
    expect(changed("* a\n\n* b\n", 1, up)).toBe("* a\n\n* b\n\n* new\n");
    for (const [text, after] of [
      ["", "* new\n"],
      ["x", "x\n* new"],
      ["* a\n** b\n", "* a\n** b\n* new\n"],
    ] as const) {
      expect(patch(text, insertHeading(scanOrg(text), null, 1, "new"))).toBe(after);
    }
  });

  test("of several kinds at once", () => {
    const all: Change = (org, h) => [
      ...setTodo(h, "DONE"),
      ...agent(org, h),
      ...log(org, h),
      ...child(org, h),
    ];
    expect(changed("* ", 0, all)).toBe(
      "* DONE\n:PROPERTIES:\n:AGENT: moss\n:END:\n:LOGBOOK:\n- claimed by moss\n:END:\n** TODO new\nwords",
    );
  });
});

test("edits that overlap are refused", () => {
  const edit = (from: number, to: number) => ({ from, to, text: "-" });
  expect(patch("abcd", [edit(2, 3), edit(0, 1), edit(1, 2), edit(2, 2)])).toBe("----d");
  expect(() => patch("abcd", [edit(0, 2), edit(1, 3)])).toThrow(RangeError);
  expect(() => patch("abcd", [edit(3, 5)])).toThrow(RangeError);
});

/** Pieces of which every text looks like org. */
const anyOrg = fc
  .array(
    fc.tuple(
      fc.constantFrom(
        ...["* one", "** two", "*** TODO three :t:", "* DONE", "* ", "** [#A] x", "text", "", "  "],
        ...[":PROPERTIES:", " :PROPERTIES:", ":END:", "  :end:", ":LOGBOOK:", ":X:", ":NOTES:"],
        ...[":AGENT: moss", ":agent:   wren ", "   :X: 1", ":LONGER-NAME: 2", "- logged"],
        ...["SCHEDULED: <x>", "#+BEGIN_SRC", "#+END_SRC", "#+begin_quote", "#+END_QUOTE"],
        ...["#+TODO: A B | C", "#+SEQ_TODO: TODO | DONE", "** A four", "<<<<<<< x", "é😀", "\r"],
      ),
      fc.constantFrom("\n", "\n", "\n", "\r\n"),
    ),
    { maxLength: 40 },
  )
  .chain((lines) =>
    fc.constantFrom("", "\n").map((end) => {
      const text = lines.map(([line, eol]) => line + eol).join("");
      return end === "" ? text.replace(/\r?\n$/, "") : text;
    }),
  );

test("any text can be scanned, and every offset is right", () => {
  holds(
    fc.property(fc.oneof(anyOrg, fc.string()), (text) => {
      const org = scanOrg(text);
      for (const heading of org.headings) {
        expect(text.slice(heading.from, heading.from + heading.level + 1)).toMatch(/^\*+ $/);
        expect(text.slice(heading.todoFrom, heading.todoTo)).toBe(heading.todo ?? "");
        expect(text.slice(heading.from, heading.to)).not.toContain("\n");
        expect(heading.end).toBeGreaterThanOrEqual(heading.next);
        for (const { name, value, valueFrom, valueTo, from, next } of heading.properties) {
          expect(text.slice(valueFrom, valueTo)).toBe(value);
          expect(text.slice(from, next)).toContain(`:${name}:`);
          expect(from >= heading.next && next <= heading.end).toBe(true);
        }
        for (const drawer of [heading.drawer, heading.logbook]) {
          if (drawer === null) continue;
          expect(text.slice(drawer.from, drawer.to).toUpperCase()).toMatch(
            new RegExp(`^${drawer.indent}:[A-Z]+:[^]*:END:[ \t]*$`),
          );
        }
      }
    }),
  );
});

const word = fc.string({ unit: fc.constantFrom("a", "B", "-", "é", " ", ":", "*", "\n", "\r") });
const name = fc.constantFrom("AGENT", "x", "Longer-Name", "NEW");
const kind = fc.constantFrom("todo", "set", "remove", "log", "insert");

test("a change shows, and touches nothing else", () => {
  /** All of a scanned heading except its offsets. */
  const parts = (h: OrgHeading, text: string) => ({
    head: text.slice(h.from, h.to),
    ...{ todo: h.todo, title: h.title, strays: h.strays.length },
    properties: h.properties.map((p) => [p.name, p.value]),
    body: text.slice(h.next, h.end),
  });
  const flat = (value: string) => value.replace(/[\r\n]+/g, " ").trim();
  holds(
    fc.property(anyOrg, fc.nat(), kind, name, word, (text, pick, what, key, value) => {
      const org = scanOrg(text);
      if (org.headings.length === 0) return;
      const index = pick % org.headings.length;
      const heading = at(org, index);
      const state = statesOf(org)[0] as string;
      const edits = {
        todo: () => setTodo(heading, state),
        set: () => setProperty(org, heading, key, value),
        remove: () => removeProperty(heading, key),
        log: () => appendLogLine(org, heading, value),
        insert: () => insertHeading(org, heading, heading.level, `new ${value}`),
      }[what]();
      const after = patch(text, edits);
      const again = scanOrg(after);

      // Outside of its own section, and of what is inserted behind its children, all is as before.
      const end = what === "insert" ? text.length : heading.end;
      for (const { from, to } of edits) expect(from >= heading.from && to <= end).toBe(true);
      expect(after.startsWith(text.slice(0, heading.from))).toBe(true);
      const added = again.headings.length - org.headings.length;
      expect(added).toBe(what === "insert" ? 1 : 0);
      const others = again.headings.filter((h) => !h.title.startsWith("new") && h.index !== index);
      const before = org.headings.filter((h) => h.index !== index);
      if (what !== "insert") {
        expect(others.map((h) => parts(h, after))).toEqual(before.map((h) => parts(h, text)));
      }
      // Each edit is whole lines, or within one.
      for (const { from, to, text: put } of edits) {
        const isWithin = !/\n/.test(text.slice(from, to) + put);
        const isFrom = from === 0 || text[from - 1] === "\n" || put.startsWith("\n");
        expect(isWithin || isFrom || put.startsWith("\r\n")).toBe(true);
      }
      const now = at(again, index);
      if (what === "todo") expect(now.todo).toBe(state);
      if (what === "set") expect(propertyOf(now, key)?.value).toBe(flat(value));
      if (what === "remove") expect(propertyOf(now, key)).toBeUndefined();
      if (what === "log") {
        const lines = after.slice(now.logbook?.innerFrom, now.logbook?.innerTo).split(/\r?\n/);
        expect(lines.at(-2)?.trim()).toBe(`- ${flat(value)}`.trim());
      }
      if (what === "insert") {
        const put = again.headings.filter((h) => h.title.startsWith("new"));
        expect(put.map((h) => h.level)).toEqual([heading.level]);
        const kept = again.headings.filter((h) => h !== put[0]);
        expect(kept.map((h) => h.title)).toEqual(org.headings.map((h) => h.title));
      }
      if (what === "set" || what === "log") {
        const kept = now.properties.filter((p) => p.name.toUpperCase() !== key.toUpperCase());
        const had = heading.properties.filter((p) => p.name.toUpperCase() !== key.toUpperCase());
        expect(kept.map((p) => [p.name, p.value])).toEqual(had.map((p) => [p.name, p.value]));
      }
    }),
    { numRuns: 1000 },
  );
});
