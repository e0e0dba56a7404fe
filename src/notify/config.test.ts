import { describe, expect, it } from "vitest";
import { parseConfig } from "../app/config.ts";
import { notifySection } from "./config.ts";

const read = async (text: string) =>
  (await parseConfig(text, "/p/viv.toml")).section(notifySection);

async function problem(text: string): Promise<string> {
  try {
    await read(text);
    return "";
  } catch (error) {
    return (error as Error).message.replaceAll("/p/viv.toml:", "");
  }
}

const ON = '[[notify]]\non = ["review"]\n';

describe("[[notify]]", () => {
  it("has a target of each kind, with a name of its own", async () => {
    const targets = await read(
      [
        `${ON}command = ["./tell.sh", "me"]\ntypes = ["fix"]\ntitle = "night"`,
        `${ON}webhook = "https://example.org/h"\nsecret = "env:KEY"\nquiet = "23:00-07:00"`,
        `${ON}slack = "env:SLACK_URL"\ndigest = "30m"`,
        `${ON}telegram = { token = "env:TG", chat = -100123 }`,
        `${ON}ntfy = "my-topic"`,
        `${ON}[notify.ntfy]\ntopic = "t"\nserver = "https://ntfy.example"\ntoken = "env:NTFY"`,
        `${ON}name = "here"\ndesktop = true`,
      ].join("\n"),
    );
    expect(targets.map(({ name, way }) => [name, way])).toEqual([
      ["command", { kind: "command", argv: ["./tell.sh", "me"] }],
      [
        "webhook",
        { kind: "webhook", url: { text: "https://example.org/h" }, secret: { env: "KEY" } },
      ],
      ["slack", { kind: "slack", url: { env: "SLACK_URL" } }],
      [
        "telegram",
        {
          kind: "telegram",
          token: { env: "TG" },
          chat: "-100123",
          server: "https://api.telegram.org",
        },
      ],
      ["ntfy", { kind: "ntfy", topic: "my-topic", server: "https://ntfy.sh" }],
      [
        "ntfy-2",
        { kind: "ntfy", topic: "t", server: "https://ntfy.example", token: { env: "NTFY" } },
      ],
      ["here", { kind: "desktop" }],
    ]);
    expect(targets[0]).toMatchObject({ types: ["fix"], title: "night" });
    expect(targets[1]?.quiet).toEqual({ from: 23 * 60, to: 7 * 60 });
    expect(targets[2]?.digestMs).toBe(30 * 60_000);
  });

  it("is refused with the line of the mistake, and what was meant", async () => {
    expect(await problem('[[notify]]\non = ["reviw", "faild"]\ndesktop = true')).toBe(
      '2: there is no event "reviw"; did you mean "review"?\n' +
        '2: there is no event "faild"; did you mean "failed"?',
    );
    expect(await problem(`${ON}desktop = true\n\n[[notify]]\non = ["zzz"]\nntfy = "t"`)).toMatch(
      /^6: there is no event "zzz"; there are: review, done, choked/,
    );
    expect(await problem(ON)).toBe(
      "1: [[notify]] needs one of command, webhook, slack, telegram, ntfy, desktop.",
    );
    expect(await problem(`${ON}slack = "env:A"\ndesktop = true`)).toMatch(
      /^1: \[\[notify\]\] has slack and desktop, and needs one of/,
    );
    expect(await problem(`${ON}slak = "env:A"`)).toBe(
      '3: unknown key "slak" in [[notify]]; did you mean "slack"?',
    );
    expect(await problem('[[notify]]\nntfy = "t"')).toMatch(/^1: \[\[notify\]\] needs on, a list/);
    expect(await problem(`${ON}ntfy = "no topic"`)).toMatch(/^3: ntfy must be a topic/);
    expect(await problem(`${ON}webhook = "ftp://x"`)).toMatch(/^3: webhook must be an address/);
    expect(await problem(`${ON}telegram = { token = "env:T" }`)).toBe("3: telegram needs chat.");
    expect(await problem(`${ON}quiet = "late"\ndesktop = true`)).toMatch(/^3: quiet "late"/);
    expect(await problem(`${ON}name = "a"\nntfy = "t"\n${ON}name = "a"\nntfy = "u"`)).toMatch(
      /^7: name "a" is that of another/,
    );
    expect(await problem('notify = "slack"')).toMatch(/^1: notify must be a list of tables/);
  });

  it("has no secret in the file", async () => {
    const literal = await problem(`${ON}webhook = "https://h"\nsecret = "hunter2"`);
    expect(literal).toBe('4: secret must be the name of an environment variable, like "env:NAME".');
    expect(await problem(`${ON}telegram = { token = "123:AAA", chat = "1" }`)).toMatch(
      /^3: token must be the name of an environment variable/,
    );
    expect(await problem(`${ON}ntfy = "t"\nsecret = "env:A"`)).toMatch(
      /^4: secret is only for a webhook/,
    );
  });
});
