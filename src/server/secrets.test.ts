import { chmodSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { newFolder } from "../../test/support/folders.ts";
import { secretsIn } from "./secrets.ts";

const NOW = 1_800_000_000_000;

it("the token is made once, for this user only", () => {
  const state = newFolder();
  const token = secretsIn(state).token();
  expect(token).toMatch(/^viv_[\w-]{43}$/);
  expect(secretsIn(state).token()).toBe(token);
  const file = join(state, "server/token");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(statSync(join(state, "server")).mode & 0o777).toBe(0o700);
  expect(secretsIn(state).isToken(token)).toBe(true);
  expect(secretsIn(state).isToken(`${token}x`)).toBe(false);
  chmodSync(file, 0o644);
  expect(() => secretsIn(state).token()).toThrow(/can be read by other users/);
  rmSync(file);
  symlinkSync("/etc/hostname", file);
  expect(() => secretsIn(state).token()).toThrow(/is a link/);
});

it("a login code works once, for ten minutes, and is in no file", () => {
  const state = newFolder();
  const secrets = secretsIn(state);
  const code = secrets.newCode(NOW);
  const files = readdirSync(join(state, "server/codes"));
  expect(
    files.join() +
      files.map((one) => readFileSync(join(state, "server/codes", one), "utf8")).join(),
  ).not.toContain(code);
  for (const wrong of ["", "x", `${code.slice(1)}a`, "../token", `${code}\0`]) {
    expect(secrets.redeem(wrong, NOW)).toBe(false);
  }
  expect(secretsIn(state).redeem(code, NOW + 1)).toBe(true);
  expect(secretsIn(state).redeem(code, NOW + 1)).toBe(false);
  const late = secrets.newCode(NOW);
  expect(secrets.redeem(late, NOW + 10 * 60_000 + 1)).toBe(false);
  secrets.newCode(NOW);
  secrets.newCode(NOW + 11 * 60_000);
  expect(readdirSync(join(state, "server/codes"))).toHaveLength(1); // the old one is gone
});

it("a session is signed by the token: it ends with its time, and with the token", () => {
  const secrets = secretsIn(newFolder());
  const { value, maxAgeSeconds } = secrets.newSession(NOW);
  expect(secrets.isSession(value, NOW)).toBe(true);
  expect(secrets.isSession(value, NOW + maxAgeSeconds * 1000 + 1)).toBe(false);
  const [until, nonce, signature] = value.split(".") as [string, string, string];
  const forged = [
    `${Number(until) + 1}.${nonce}.${signature}`,
    `${until}.x.${signature}`,
    `${until}.${nonce}.`,
    `${until}.${nonce}`,
    value.slice(0, -1),
    `${value}.x`,
    "",
  ];
  for (const one of forged) expect(secrets.isSession(one, NOW), one).toBe(false);
  const code = secrets.newCode(NOW);
  const token = secrets.token();
  expect(secrets.renew()).not.toBe(token);
  expect(secrets.isSession(value, NOW)).toBe(false);
  expect(secrets.redeem(code, NOW)).toBe(false);
  expect(secrets.isToken(token)).toBe(false);
});
