import { describe, expect, it, test } from "vitest";
import { parseManifest } from "./manifest.ts";
import { noticesAbout, toldTo } from "./start-notices.ts";

test.each([
  ["Claim before you work: set :AGENT: and commit it.", "claim"],
  ["- Never guess.\n- Commit your files, then pass it on.", "commit"],
  ["Run =git commit -m … -- content/=.", "commit"],
  ["=viv board claim SLUG=", "claim"],
  ["Read the last commit and judge it.", null],
  ["Look at each commit message. A claim needs a source.", null],
  ["Never commit, and do not claim anything.", null],
  ["Read yesterday's commits and claims.", null],
  ["moss finds a story, claims it and works on it.", "claim"],
  ["Each draft must be committed before you pass it on.", "commit"],
  ["What was committed yesterday is claimed by others.", null],
  ["A commitment is not a claimant.", null],
  ["", null],
])("%j tells its reader to %s", (text, expected) => expect(toldTo(text)).toBe(expected));

describe("at the start", () => {
  const texts: Record<string, string> = {
    "/news/laws.org": "Claim a task before you touch it, in a commit of its own.",
    "/news/writer.org": "#+SHARED: laws.org\nYou are wren.",
    "/news/critic.org": "You judge what is there.",
  };
  const ports = {
    isFolder: () => false,
    readText: (path: string) => {
      if (texts[path] !== undefined) return texts[path];
      throw Object.assign(new Error("ENOENT"), { code: "ENOENT" });
    },
  };
  const notices = (text: string, file: string) => {
    const format = file.endsWith(".toml") ? "toml" : "org";
    const { members } = parseManifest(text, { file, format });
    return noticesAbout(members, { file, isSingleton: false }, ports);
  };
  const entry = (name: string, def: string, more = "") =>
    `* ${name}\n:PROPERTIES:\n:DEF: ${def}\n${more}:END:\n`;
  const what =
    "wren runs in plan mode, the default, and is told to change nothing; but its def tells it to claim";

  it("names a member that is told to claim or commit and may not, with the line to write", () => {
    const file = "/news/crew.org";
    expect(notices(entry("critic", "critic.org") + entry("wren", "writer.org"), file)).toEqual([
      `/news/crew.org:5: ${what}. To let it, write into its drawer: :MODE: edit`,
    ]);
    expect(notices('[crew.wren]\ndef = "writer.org"\n', "/news/crew.toml")).toEqual([
      `/news/crew.toml:1: ${what}. To let it, write into [crew.wren]: mode = "edit"`,
    ]);
  });

  it("is silent where the mode is written, and where the def cannot be read or the entry is wrong", () => {
    for (const more of [":MODE: edit\n", ":MODE: plan\n", ":INTERVAL: soon\n"]) {
      expect(notices(entry("wren", "writer.org", more), "/news/crew.org")).toEqual([]);
    }
    expect(notices(entry("wren", "gone.org"), "/news/crew.org")).toEqual([]);
  });
});
