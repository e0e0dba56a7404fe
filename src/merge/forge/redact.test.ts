import fc from "fast-check";
import { expect, it } from "vitest";
import { redacted } from "./redact.ts";

it.each([
  ["a token ghp_abcdefghijklmnopqrstuvwxyz0123 here", "a token [redacted] here"],
  ["glpat-abcdefghijklmnop1234", "[redacted]"],
  ["key=sk-ant-api03-abcdefghijklmnop", "key=[redacted]"],
  ["AKIAABCDEFGHIJKLMNOP.", "[redacted]."],
  ["git clone https://me:pw@github.com/a/b", "git clone https://[redacted]@github.com/a/b"],
  ["https://token@github.com/a", "https://[redacted]@github.com/a"],
  ["-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nrest", "[redacted]\nrest"],
  ["npm_abcdefghijklmnopqrstuvwxyz and glrt-abcdefghijklmnop", "[redacted] and [redacted]"],
  ["Authorization: Bearer abcdefgh1234", "Authorization: [redacted]"],
  ["password: hunter2", "password: [redacted]"],
  ["https://hooks.slack.com/services/T000/B000/x", "https://hooks.slack.com/services/[redacted]"],
  ["?access_token=abc&b=1", "?access_token=[redacted]&b=1"],
  ["cd /home/me/app && make", "cd ~/app && make"],
  ["npm test passed: 12 of 12", "npm test passed: 12 of 12"],
  ["mail me@example.org about a@b", "mail me@example.org about a@b"],
])("%s", (text, safe) => {
  expect(redacted(text, { HOME: "/home/me" })).toBe(safe);
});

it.each([
  "Add basic implementation of the parser",
  "Basic validation for forms",
  "Use bearer authentication in the client",
  "Count input tokens: sum per model",
  "rename --token flag to --key",
  "Add --password option",
  "Cookie: keep the session of a tab",
  "Authorization: check roles, then owners",
  "API key: a better message",
  "sk-learn-compatible estimator",
])("leaves the title: %s", (title) => expect(redacted(title, {})).toBe(title));

it.each([
  "password: hunter",
  'token = "hunterhunter"',
  "--password hunter",
  "secret=hunter; x",
  "Cookie: hunter=hunter",
  "Authorization: Token huNter",
  "bearer hunter-hunter",
  "sk-ant-hunter-xyz9",
  "sk-live-hunterhunterhunter",
  "X-Api-Key: 1234567890123456 hunter",
  "Authorization: Bearer hunterhunterhunter",
  "authorization: hunter",
  "VIV_TOKEN=hunter",
  "api_key=hunterhunter and more",
  "authorization: eyJhbGciOi.eyJzdWIi.abc, cookie: sid=hunter",
  "Cookie: sk-abcdef123456; session=HUNTER123abc",
  "db password: hunter on port 5432",
])("takes the value out of: %s", (text) => expect(redacted(text, {})).not.toMatch(/hunter/i));

it("knows variables whose names and values are only perhaps secret", () => {
  const env = { SESSION_COOKIE: "abc-12345", SSH_AUTH_SOCK: "/run/agent.1", LOG_KEY: "somewhere" };
  expect(redacted("abc-12345 /run/agent.1 somewhere", env)).toBe(
    "[redacted] /run/agent.1 somewhere",
  );
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
