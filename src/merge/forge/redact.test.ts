import fc from "fast-check";
import { expect, it } from "vitest";
import { redacted } from "./redact.ts";

it.each([
  ["a token ghp_abcdefghijklmnopqrstuvwxyz0123 here", "a token *** here"],
  ["glpat-abcdefghijklmnop1234", "***"],
  ["key=sk-ant-api03-abcdefghijklmnop", "key=***"],
  ["AKIAABCDEFGHIJKLMNOP.", "***."],
  ["git clone https://me:pw@github.com/a/b", "git clone https://github.com/a/b"],
  ["https://token@github.com/a", "https://github.com/a"],
  ["-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nrest", "***\nrest"],
  ["cd /home/me/app && make", "cd ~/app && make"],
  ["npm test passed: 12 of 12", "npm test passed: 12 of 12"],
  ["mail me@example.org about a@b", "mail me@example.org about a@b"],
])("%s", (text, safe) => {
  expect(redacted(text, { HOME: "/home/me" })).toBe(safe);
});

it("never has the value of a variable that holds a secret", () => {
  const secret = fc.stringMatching(/^[A-Za-z0-9+/=]{8,40}$/);
  fc.assert(
    fc.property(secret, fc.string(), fc.string(), (value, before, after) => {
      const env = { DEPLOY_TOKEN: value };
      expect(redacted(`${before}${value}${after}`, env).includes(value)).toBe(false);
    }),
  );
});
