import { readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { newFolder } from "../../test/support/folders.ts";
import { evidenceIn } from "./evidence.ts";

describe("the artifact of a model run", () => {
  function scene() {
    const folder = newFolder();
    const evidence = evidenceIn(folder);
    const path = join(folder, "t.md");
    return {
      evidence,
      path,
      read: () => readFileSync(path, "utf8"),
      /** As if all was written within one tick of the clock: times say nothing. */
      sameTime: () => utimesSync(path, 1_000, 1_000),
    };
  }

  test("a second answer replaces the first, also within one tick of the clock", () => {
    const { evidence, read, sameTime } = scene();
    evidence.writeArtifact("t", "first\n", evidence.markArtifact("t"));
    expect(read()).toBe("first\n");
    sameTime();
    const mark = evidence.markArtifact("t");
    evidence.writeArtifact("t", "other\n", mark);
    expect(read()).toBe("other\n");
  });

  test("what the run wrote itself stays, also within one tick and of the same length", () => {
    const { evidence, path, read, sameTime } = scene();
    evidence.writeArtifact("t", "first\n", evidence.markArtifact("t"));
    sameTime();
    const mark = evidence.markArtifact("t");
    writeFileSync(path, "mine!\n");
    sameTime();
    evidence.writeArtifact("t", "done.\n", mark);
    expect(read()).toBe("mine!\n");
  });

  test("the same text written again is the run's own, too", () => {
    const { evidence, path, read, sameTime } = scene();
    evidence.writeArtifact("t", "first\n", evidence.markArtifact("t"));
    sameTime();
    const mark = evidence.markArtifact("t");
    writeFileSync(path, "first\n"); // a later time
    evidence.writeArtifact("t", "done.\n", mark);
    expect(read()).toBe("first\n");
  });

  test("an empty file and a link are nobody's answer", () => {
    const { evidence, path, read } = scene();
    const mark = evidence.markArtifact("t");
    writeFileSync(path, "");
    evidence.writeArtifact("t", "first\n", mark);
    expect(read()).toBe("first\n");
    rmSync(path);
    const outside = join(newFolder(), "secret");
    writeFileSync(outside, "secret\n");
    symlinkSync(outside, path);
    evidence.writeArtifact("t", "second\n", mark);
    expect(read()).toBe("second\n");
    expect(readFileSync(outside, "utf8")).toBe("secret\n");
  });
});
