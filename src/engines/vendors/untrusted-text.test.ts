import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { request } from "../../../test/engines/vendors/run.ts";
import { claudeEngine } from "./claude.ts";
import { codexEngine } from "./codex.ts";
import { geminiEngine } from "./gemini.ts";
import { opencodeEngine } from "./opencode.ts";

const claude = (prompt: string) => claudeEngine().command(request({ prompt })).stdin;
const gemini = (prompt: string) => geminiEngine().command(request({ prompt })).stdin;

describe("a prompt that begins with a command", () => {
  test.each(["/clear now", " /clear", "\n\n/mycmd $(id)", "\t/x"])("%j is text", (prompt) => {
    for (const sent of [claude(prompt), gemini(prompt)]) {
      expect(sent).toBe(`The task:\n\n${prompt}`);
    }
  });

  test("elsewhere a slash is left alone", () => {
    for (const send of [claude, gemini]) expect(send("see /etc\n/clear")).toBe("see /etc\n/clear");
  });
});

describe("a file that a prompt mentions", () => {
  test("is not read by claude, by a variable, and its text stays as it is", () => {
    const prompt = "@../../secret.txt, @types/node, me@example.org and @Injectable()";
    const { stdin, env } = claudeEngine().command(request({ prompt }));
    expect(stdin).toBe(prompt);
    expect(env).toEqual({ CLAUDE_CODE_DISABLE_FILE_MENTIONS: "1" });
  });

  test.each(["@docs:file:///x", "see @agent-reviewer", '@"x (agent)"', "@[a b](https://x)"])(
    "claude: %j, which the variable does not reach, is escaped",
    (prompt) => {
      const escaped = prompt.replace("@", "\\@");
      expect(claude(prompt)).toBe(`(In what follows, \\@ stands for an at sign.)\n\n${escaped}`);
    },
  );

  test("is not read by gemini, wherever it is mentioned", () => {
    expect(gemini("/x `@inside.txt` a@b.c")).toBe(
      "(In what follows, \\@ stands for an at sign.)\n\n/x `\\@inside.txt` a\\@b.c",
    );
    // What gemini itself looks for.
    const mention = /(?<!\\)@/;
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("@", "\\", "/", "a", ".", " ", "\n") }),
        (text) => {
          expect(gemini(text)).not.toMatch(mention);
          expect(gemini(text)).not.toMatch(/^\s*\//);
          expect(claude(text)).not.toMatch(/^\s*\//);
        },
      ),
    );
  });
});

test("codex and opencode take neither for more than text", () => {
  const prompt = "/clear @x";
  for (const engine of [codexEngine(), opencodeEngine()]) {
    expect(engine.command(request({ prompt })).stdin).toBe(prompt);
  }
});
