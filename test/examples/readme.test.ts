import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { CATALOG } from "../../src/app/catalog.ts";
import { findCommand } from "../../src/operation/catalog.ts";
import { parseFlags } from "../../src/operation/flags.ts";
import { newFolder } from "../support/folders.ts";
import { DIST } from "../support/processes.ts";
import { EXAMPLES } from "./example.ts";

const names = readdirSync(EXAMPLES).filter((name) => name !== "bin");

describe.each(names)("examples/%s/README.md", (name) => {
  const readme = readFileSync(join(EXAMPLES, name, "README.md"), "utf8");

  it("names only commands and flags that exist", async () => {
    const shell = [...readme.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text]) => text ?? "");
    const calls = [...shell.join("").matchAll(/^viv ([a-z]+)(.*?)( +#.*)?$/gm)];
    expect(calls.length).toBeGreaterThan(2);
    for (const [line, verb = "", rest = ""] of calls) {
      const words = [...rest.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
        ([, single, double, bare]) => single ?? double ?? bare ?? "",
      );
      const found = findCommand(CATALOG, [verb, ...words]);
      if (!found) throw new Error(`there is no such command: ${line}`);
      const command = await found.entry.load();
      await expect(parseFlags(verb, command, found.rest), line).resolves.toBeDefined();
    }
  });

  it("links to files that are there", () => {
    const links = [...readme.matchAll(/\]\(([^)]+)\)/g)].map(([, link]) => link ?? "");
    expect(links.length).toBeGreaterThan(0);
    for (const link of links) expect(() => readFileSync(join(EXAMPLES, name, link))).not.toThrow();
  });
});

describe("examples/bin/viv", () => {
  it("is the viv of the clone that it lies in", () => {
    const clone = newFolder();
    mkdirSync(join(clone, "examples"));
    cpSync(join(EXAMPLES, "bin"), join(clone, "examples/bin"), { recursive: true });
    symlinkSync(DIST, join(clone, "dist"));
    const { version } = JSON.parse(readFileSync(join(EXAMPLES, "../package.json"), "utf8"));
    const said = execFileSync(join(clone, "examples/bin/viv"), ["version"], { encoding: "utf8" });
    expect(said).toBe(`${version}\n`);
  });
});
