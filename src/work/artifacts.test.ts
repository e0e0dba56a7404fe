import { readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { newFolder } from "../../test/support/folders.ts";
import { artifactsIn } from "./artifacts.ts";

describe("the artifact of a model run", () => {
  function scene() {
    const folder = newFolder();
    const artifacts = artifactsIn(folder);
    const path = join(folder, "t.md");
    return {
      artifacts,
      path,
      read: () => readFileSync(path, "utf8"),
      /** As if all was written within one tick of the clock: times say nothing. */
      sameTime: () => utimesSync(path, 1_000, 1_000),
    };
  }

  test("a second answer replaces the first, also within one tick of the clock", () => {
    const { artifacts, read, sameTime } = scene();
    artifacts.writeArtifact("t", "first\n", artifacts.markArtifact("t"));
    expect(read()).toBe("first\n");
    sameTime();
    const mark = artifacts.markArtifact("t");
    artifacts.writeArtifact("t", "other\n", mark);
    expect(read()).toBe("other\n");
  });

  test("what the run wrote itself stays, also within one tick and of the same length", () => {
    const { artifacts, path, read, sameTime } = scene();
    artifacts.writeArtifact("t", "first\n", artifacts.markArtifact("t"));
    sameTime();
    const mark = artifacts.markArtifact("t");
    writeFileSync(path, "mine!\n");
    sameTime();
    artifacts.writeArtifact("t", "done.\n", mark);
    expect(read()).toBe("mine!\n");
  });

  test("the same text written again is the run's own, too", () => {
    const { artifacts, path, read, sameTime } = scene();
    artifacts.writeArtifact("t", "first\n", artifacts.markArtifact("t"));
    sameTime();
    const mark = artifacts.markArtifact("t");
    writeFileSync(path, "first\n"); // a later time
    artifacts.writeArtifact("t", "done.\n", mark);
    expect(read()).toBe("first\n");
  });

  test("an empty file and a link are no answer", () => {
    const { artifacts, path, read } = scene();
    const mark = artifacts.markArtifact("t");
    writeFileSync(path, "");
    artifacts.writeArtifact("t", "first\n", mark);
    expect(read()).toBe("first\n");
    rmSync(path);
    const outside = join(newFolder(), "secret");
    writeFileSync(outside, "secret\n");
    symlinkSync(outside, path);
    artifacts.writeArtifact("t", "second\n", mark);
    expect(read()).toBe("second\n");
    expect(readFileSync(outside, "utf8")).toBe("secret\n");
  });
});
