import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { newFolder } from "../../../test/support/folders.ts";
import { whyNoInterpreter } from "./programs.ts";

it("tells a script whose #! line names no program of this machine", () => {
  const file = join(newFolder(), "script");
  const why = (text: string) => {
    writeFileSync(file, text);
    chmodSync(file, 0o755);
    return whyNoInterpreter(file, "/usr/bin:/bin");
  };
  const good = [
    "#!/bin/sh\n",
    "#! /bin/sh -eu\n",
    "#!/usr/bin/env sh\n",
    "#!/usr/bin/env -S sh -u\n",
  ];
  for (const text of [...good, "#!/usr/bin/env A=b sh\n", "\x7fELF", "", "#!\n", "echo\n"]) {
    expect({ text, why: why(text) }).toEqual({ text, why: null });
  }
  expect(why("#!/no/such\n")).toBe(
    `${file} has /no/such in its #! line, which is no program here; correct it`,
  );
  expect(why("#!/usr/bin/env nosuch\n")).toContain("has nosuch in its #! line");
  expect(why("#!/bin/sh\r\necho\r\n")).toContain(
    "has /bin/sh\\r in its #! line, which is no program here; its lines end as on Windows",
  );
  expect(why("#!/usr/bin/env sh\r\n")).toContain("its lines end as on Windows");
});
