import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { newFolder } from "../../../test/support/folders.ts";
import { KEEPER_SCRIPT } from "./keeper.ts";
import { limitMark } from "./limit-mark.ts";

const MARK = limitMark("a");

/** Writes down what it is asked, without the files. */
const GREP = (path: string) =>
  `#!/bin/sh\nall="$*"\nprintf '%s\\n' "\${all%%/proc/*}" >> '${path}'\nexit 1\n`;

/** What the shell looks for after this input. Our own grep finds nothing, so no process is killed. */
function lookedFor(input: string): string[] {
  const folder = newFolder();
  const said = join(folder, "said");
  const programs = { grep: GREP(said), sleep: "#!/bin/sh\n" };
  for (const [name, text] of Object.entries(programs)) {
    writeFileSync(join(folder, name), text);
    chmodSync(join(folder, name), 0o755);
  }
  const PATH = `${folder}:${process.env.PATH}`;
  const { status } = spawnSync("/bin/sh", ["-c", KEEPER_SCRIPT], { input, env: { PATH } });
  expect(status).toBe(0);
  return existsSync(said)
    ? [...new Set(readFileSync(said, "utf8").split("\n").filter(Boolean))]
    : [];
}

describe.skipIf(process.platform !== "linux")("the shell that ends what a dead worker ran", () => {
  test("looks for the marks of the trees of the last line", () => {
    const limits = `-lsE ^Max resident set +(none|${MARK})  `;
    expect(lookedFor(`0 ${MARK} a\n`)).toEqual([limits, "-lszxF -e VIV_CLAIM=a "]);
  });

  test.each(["0", "0 ", `0 ${MARK.slice(0, 5)}`, `0 ${MARK}`, `0 ${MARK} a`])(
    "does not use a line that was cut off after %o",
    (cut) => {
      expect(lookedFor(cut)).toEqual([]);
      const whole = lookedFor(`0 ${MARK} a\n`);
      expect(lookedFor(`0 ${MARK} a\n${cut}`)).toEqual(whole);
      expect(lookedFor(`0 ${MARK} a\n0 ${MARK} a\t${cut}`)).toEqual(whole);
    },
  );

  test.each(["0  a", "0 unlimited a", "0 .* a", "0 123 a", "a"])(
    "takes no mark from %o",
    (line) => {
      for (const args of lookedFor(`${line}\n`)) expect(args).not.toContain("none|");
    },
  );
});
