import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Private, redactor } from "./redact.ts";

const HERE: Private = {
  folders: [
    ["/home/ida", "~"],
    ["/home/ida/shop", "."],
    ["/home/ida/shop/run", "RUN"],
  ],
  roots: ["home", "tmp", "root"],
  names: [
    ["ida", "user"],
    ["moorhen", "host"],
  ],
  secrets: ["correct-horse-9"],
  dropped: [" --run /home/ida/shop/run"],
};
const redact = redactor(HERE);
const long = "Ab1".repeat(12);

describe("paths and names", () => {
  it.each([
    ["viv why t.1 --run /home/ida/shop/run", "viv why t.1"],
    ["in /home/ida/shop/run/artifacts/a.md", "in RUN/artifacts/a.md"],
    ["at /home/ida/shop/src/a.ts:12", "at ./src/a.ts:12"],
    ["/home/ida/.ssh/config", "~/.ssh/config"],
    ["/home/ida-b/x", "…/x"],
    ['open("/tmp/viv-1/out.txt")', 'open("…/out.txt")'],
    ["PATH=/usr/bin:/root/bin:/tmp", "PATH=/usr/bin:…/bin:…/tmp"],
    ["see file:///var/lib/x.html", "see …/x.html"],
    ["worker moorhen-4711, MOORHEN.local", "worker host-4711, host.local"],
    ["asked by ida; the idaho file", "asked by user; the idaho file"],
  ])("%s", (said, shown) => expect(redact(said)).toBe(shown));

  it.each([
    "GET /api/v1/users",
    "https://example.org/home/ida2/x",
    "#!/usr/bin/env node",
    "a/tmp/b",
  ])("leaves %s", (text) => expect(redact(text)).toBe(text));
});

describe("secrets", () => {
  it.each([
    `sk-${long}`,
    `ghp_${long}`,
    `github_pat_${long}`,
    `glpat-${long}`,
    `glrt-${long}`,
    `xoxb-${long}`,
    `AKIA${"A1".repeat(8)}`,
    `npm_${long}`,
    `eyJ${long}.${long}.${long}`,
    `Authorization: Bearer ${long}`,
    `"authorization": "Basic ${long}"`,
    `curl -H 'X-Api-Key: ${long}'`,
    `Cookie: session=${long}`,
    `API_KEY=${long}`,
    `{"client_secret": "${long}"}`,
    `password: "${long} with spaces"`,
    `https://ida:${long}@example.org/x`,
    `postgres://u:${long}@db/x`,
    `https://example.org/x?access_token=${long}&b=1`,
    `-----BEGIN RSA PRIVATE KEY-----\n${long}\n${long}\n-----END RSA PRIVATE KEY-----`,
    `-----BEGIN OPENSSH PRIVATE KEY-----\n${long}\n${long}`,
    `${long}\n-----END PRIVATE KEY-----`,
    `viv_${long}Ab1x`,
    `gsk_${long}`,
    `hvs.${long}`,
    `AGE-SECRET-KEY-${long.toUpperCase()}`,
    `https://hooks.slack.com/services/T000/B000/${long}`,
    `https://discord.com/api/webhooks/1234/${long}`,
    `bot123456789:${long.slice(1)}`,
    `curl -u ida:${long} https://example.org`,
    `mysql --password ${long}`,
    `AccountKey=${long}==;EndpointSuffix=x`,
    `<password>${long}</password>`,
    `passphrase "${long}"`,
    `{\\"cookie\\": \\"session=${long}\\"}`,
    `{\\"client_secret\\": \\"${long}\\"}`,
    `{\\\\\\"api_key\\\\\\":\\\\\\"${long}\\\\\\"}`,
    `the word is correct-horse-9`,
  ])("takes out %s", (text) => {
    for (const around of [text, `before ${text} after`, `{"log":"${text}"}`]) {
      const shown = redact(around);
      expect(shown.toLowerCase()).not.toContain(long.slice(1).toLowerCase());
      expect(shown).not.toContain("correct-horse-9");
      expect(shown).toContain("[redacted]");
    }
  });

  it.each([
    '{"tokens": 12345}',
    "total_tokens=950",
    "the token was refused",
    "secret: true",
    "at 12:30:45, pid 12345678:9",
    "viv token --link; git log -u",
    "use --token, or a password file",
    "vivarium@0.1.0",
  ])("leaves %s", (text) => expect(redact(text)).toBe(text));

  it("takes out addresses of people", () => {
    expect(redact("Signed-off-by: I <i.b@mail.example.org>")).toBe(
      "Signed-off-by: I <[redacted e-mail]>",
    );
  });

  it("keeps a secret out whatever surrounds it", () => {
    void fc.assert(
      fc.property(fc.string(), fc.string(), (before, after) => {
        expect(redact(`${before} ghp_${long} ${after}`)).not.toContain(long);
      }),
    );
  });

  it("reads a long text of many beginnings of a token once", () => {
    const beginnings = "eyJ-".repeat(100_000);
    const text = `${beginnings} eyJ${long}.${long}.${long}`;
    expect(redact(text)).toBe(`${beginnings} [redacted]`);
  }, 15_000);
});
