import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Receipt } from "./dance.ts";
import { inboxName, requesterNotifier } from "./notify-requester.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "viv-requester-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const receipt = (requester = "deacon", dog = "dog-1") =>
  ({ dog, verdict: "executed", warrant: { id: "w1", requester } }) as Receipt;
const inbox = () => join(folder, "inbox");
const notify = (options = {}, one = receipt()) =>
  requesterNotifier({ inbox: inbox(), ...options })(one);

describe("the inbox", () => {
  it("has the receipt once, however often it is delivered", async () => {
    expect(await notify()).toEqual([{ by: "inbox", trouble: null }]);
    expect(await notify()).toEqual([{ by: "inbox", trouble: null }]);
    expect(readdirSync(join(inbox(), "deacon"))).toEqual(["w1.json"]);
    const text = readFileSync(join(inbox(), "deacon/w1.json"), "utf8");
    expect(JSON.parse(text)).toEqual(receipt());
  });

  it("is not written over", async () => {
    await notify();
    writeFileSync(join(inbox(), "deacon/w1.json"), "mine");
    expect(await notify()).toEqual([{ by: "inbox", trouble: null }]);
    expect(readFileSync(join(inbox(), "deacon/w1.json"), "utf8")).toBe("mine");
    expect(readdirSync(join(inbox(), "deacon")).sort()).toEqual(["w1-dog-1.json", "w1.json"]);
    writeFileSync(join(inbox(), "deacon/w1-dog-1.json"), "mine too");
    expect((await notify())[0]?.trouble).toContain("has another w1.json");
  });

  it("lies in a folder whose name leads nowhere else", async () => {
    expect(inboxName("warden:no_output")).toBe("warden_no_output");
    expect(inboxName("../../etc")).toBe("__.._etc");
    for (const name of ["..", ".", "", "/", "a/../../b", "\0", "x".repeat(500), "ä ö"]) {
      expect(inboxName(name)).toMatch(/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$/);
      await notify({}, receipt(name));
    }
    expect(readdirSync(folder)).toEqual(["inbox"]);
  });

  it("that cannot be written is an error in the result", async () => {
    writeFileSync(inbox(), "a file");
    expect((await notify())[0]).toMatchObject({ by: "inbox", trouble: expect.any(String) });
  });
});

describe("an execution that is held", () => {
  it("is sent by inbox and hook, the last pause's notice beside the receipt", async () => {
    const heard: unknown[] = [];
    const held = requesterNotifier({
      ...{ inbox: inbox(), ways: ["hook"] },
      send: async (by, notice) => {
        heard.push([by, notice]);
        return heard.length > 1 ? "exit 1:\nno" : null;
      },
    });
    const { dog, warrant } = receipt();
    const notice = { event: "held" as const, dog, warrant, since: "1", by: "breaker", why: "3" };
    await held({ ...notice, todo: "viv warden resume" });
    const told = await held({ ...notice, since: "2", todo: "viv warden resume" });
    expect(told).toEqual([
      { by: "inbox", trouble: null },
      { by: "hook", trouble: "exit 1: no" },
    ]);
    await notify();
    expect(readdirSync(join(inbox(), "deacon")).sort()).toEqual(["w1.held.json", "w1.json"]);
    const left = JSON.parse(readFileSync(join(inbox(), "deacon/w1.held.json"), "utf8"));
    expect(left).toEqual({ ...notice, since: "2", todo: "viv warden resume" });
    expect(heard).toHaveLength(2);
    expect(heard[1]).toMatchObject(["hook", { event: "held", since: "2" }]);
  });
});
