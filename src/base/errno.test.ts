import { expect, test } from "vitest";
import { errno, machineErrorOf, translate } from "./errno.ts";
import { VivError } from "./errors.ts";

const raw = (code: string, number: number) =>
  Object.assign(new Error(`${code}: it failed`), { code, errno: number });

test("a quota that is used up has no name in node, and is a full disk", () => {
  const error = raw("Unknown system error -122", -122);
  expect(errno(error)).toBe("EDQUOT");
  expect(machineErrorOf(error)).toBe("DISK_FULL");
  expect(translate(error, "trying")).toMatchObject({ code: "DISK_FULL" });
});

test.each([
  ["ENOSPC", -28, "DISK_FULL"],
  ["EROFS", -30, "READ_ONLY"],
  ["EIO", -5, "DISK_FAULT"],
  ["EMFILE", -24, "EXHAUSTED"],
])("%s is a machine error", (code, number, expected) => {
  expect(translate(raw(code, number), "trying")).toMatchObject({ code: expected });
  expect(machineErrorOf(translate(raw(code, number), "trying"))).toBe(expected);
});

test("other errors pass unchanged", () => {
  const lost = new VivError("CLAIM_LOST", "lost");
  expect(translate(lost, "trying")).toBe(lost);
  expect(machineErrorOf(lost)).toBeUndefined();
  expect(machineErrorOf(raw("ENOENT", -2))).toBeUndefined();
  expect(machineErrorOf(undefined)).toBeUndefined();
});
