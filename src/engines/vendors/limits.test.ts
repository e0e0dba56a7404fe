import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Complaint, Diagnosis, resetTime, type Vendor } from "./limits.ts";

const NOW = Date.parse("2026-11-15T10:00:00Z");
const vendor: Vendor = { name: "v", login: "log in", credit: "pay" };
const recognise = (complaint: Complaint, by = vendor) =>
  new Diagnosis(by, () => NOW).recognise(complaint);
const kind = (message: string, status?: number) => recognise({ message, status })?.kind ?? null;

describe("what a vendor complains about", () => {
  test.each([
    ["rate_limited", "API Error: Request rejected (429) · rate_limit_error"],
    ["rate_limited", "You've hit your limit · resets 8pm (Europe/Berlin)"],
    ["rate_limited", "You're out of extra usage · resets 5pm"],
    ["rate_limited", "5-hour limit reached ∙ resets 2am"],
    ["rate_limited", "exceeded retry limit, last status: 429 Too Many Requests"],
    [
      "rate_limited",
      "You've hit your usage limit for gpt-6. Switch to another model now, or try again later.",
    ],
    ["unavailable", "Selected model is at capacity. Please try a different model."],
    [
      "unavailable",
      "We\u2019re currently experiencing high demand, which may cause temporary errors.",
    ],
    ["unavailable", "Error: connect ECONNREFUSED 127.0.0.1:443"],
    ["unavailable", "stream disconnected before completion: error sending request"],
    ["unavailable", "exception TypeError: fetch failed sending request"],
    [
      "unavailable",
      "Cannot connect to API: Unable to connect. Is the computer able to access the url?",
    ],
    [
      "unavailable",
      "unexpected status 503 Service Unavailable: The server is currently overloaded.",
    ],
    ["refused", "[API Error: models/mock is not found for API version v1beta]"],
    ["unavailable", 'API Error: 529 {"type":"overloaded_error"}'],
    ["rate_limited", "You have exhausted your daily quota on this model."],
    ["quota", "Credit balance is too low"],
    ["quota", "Your workspace is out of credits. Add credits to continue."],
    ["quota", "You hit your spend cap set in your workspace. Increase your spend cap to continue."],
    ["quota", "Quota exceeded. Check your plan and billing details."],
    ["quota", "You exceeded your current quota, please check your plan and billing details."],
    ["quota", "insufficient_quota"],
    ["unauthorized", "Invalid API key · Please run /login"],
    ["unauthorized", "Not logged in · Please run /login"],
    ["unauthorized", "OAuth token has expired. Please obtain a new token."],
    [
      "unauthorized",
      "unexpected status 401 Unauthorized: Missing bearer or basic authentication in header",
    ],
    [
      "unauthorized",
      "Your access token could not be refreshed because your refresh token was revoked.",
    ],
    ["unauthorized", "API key not valid. Please pass a valid API key."],
    ["unauthorized", "Missing environment variable: `OPENAI_API_KEY`."],
    ["refused", "The 'gpt-99' model is not supported when using Codex with a ChatGPT account."],
    ["refused", "Model not found: openai/gpt-99. Did you mean: gpt-6?"],
    ["refused", "The model `gpt-99` does not exist or you do not have access to it."],
    ["refused", "unexpected status 401 Unauthorized: You are not authorized to access this model"],
    ["refused", "error: unknown option '--frobnicate'"],
    ["refused", "error: unexpected argument '--frobnicate' found"],
    [
      "refused",
      "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons",
    ],
    ["session_lost", "No conversation found with session ID: 1-2-3"],
    ["session_lost", "thread/resume failed: no rollout found for thread id 1-2-3 (code -32600)"],
    ["session_lost", "thread/read failed: thread not loaded: bc0d74c3"],
    ["session_lost", 'Error resuming session: Invalid session identifier "x".'],
  ])("%s: %s", (expected, message) => {
    expect(kind(message)).toBe(expected);
  });

  test.each([
    "TypeError: Cannot read properties of undefined (reading 'rate_limits')",
    "Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying.",
    "agent thread limit reached",
    "listening on port 4290",
    "",
  ])("nothing known: %s", (message) => {
    expect(kind(message)).toBeNull();
  });

  test.each([
    [401, "unauthorized"],
    [402, "quota"],
    [404, "refused"],
    [429, "rate_limited"],
    [400, null],
    [500, "unavailable"],
    [529, "unavailable"],
  ])("a status of %d alone says %s", (status, expected) => {
    expect(kind("something", status)).toBe(expected);
  });

  test("a quota that refills by itself is a limit", () => {
    const message = "You exceeded your current quota, please check your plan and billing details.";
    const google = { ...vendor, quotasRefill: true };
    expect(recognise({ message }, google)?.kind).toBe("rate_limited");
    expect(recognise({ message: "Payment Required" }, google)?.kind).toBe("quota");
  });
});

describe("when a limit is lifted", () => {
  const at = (text: string) => {
    const time = resetTime(text, NOW);
    return time === null ? null : new Date(time).toISOString();
  };

  test.each([
    ["Claude AI usage limit reached|1794750000", "2026-11-15T13:40:00.000Z"],
    ['{"resets_at":1794750000}', "2026-11-15T13:40:00.000Z"],
    ['"retryDelay": "34.5s"', "2026-11-15T10:00:34.500Z"],
    ["Please retry in 12s.", "2026-11-15T10:00:12.000Z"],
    ["Please retry in 250.5ms.", "2026-11-15T10:00:00.251Z"],
    ["Your quota will reset after 10h23m5s.", "2026-11-15T20:23:05.000Z"],
    ["Try again in 1 day 3 hours 5 minutes.", "2026-11-16T13:05:00.000Z"],
    ["try again in 2 hours and 30 minutes", "2026-11-15T12:30:00.000Z"],
    ["retry-after: 30", "2026-11-15T10:00:30.000Z"],
    ['"resets_in_seconds": 90', "2026-11-15T10:01:30.000Z"],
    ["resets 2pm (Asia/Shanghai)", "2026-11-16T06:00:00.000Z"],
    ["resets 8pm (Europe/Berlin)", "2026-11-15T19:00:00.000Z"],
    ["resets 8:30pm (Europe/Berlin)", "2026-11-15T19:30:00.000Z"],
    ["resets 12am (UTC)", "2026-11-16T00:00:00.000Z"],
    ["resets Nov 17 at 4pm (America/Recife)", "2026-11-17T19:00:00.000Z"],
    ["resets Nov 17, 7pm (Asia/Riyadh)", "2026-11-17T16:00:00.000Z"],
    ["limit until 2026-11-15T11:00:00Z", "2026-11-15T11:00:00.000Z"],
    ["resets 2pm (Middle/Earth)", at("resets 2pm")],
    ["resets at 4pm tomorrow or so", at("resets 4pm")],
  ])("%s", (text, expected) => {
    expect(expected).not.toBeNull();
    expect(at(text)).toBe(expected);
  });

  test("in January, when it is December", () => {
    const december = Date.parse("2026-12-31T10:00:00Z");
    const time = resetTime("resets Jan 2 at 4pm (UTC)", december);
    expect(time).toBe(Date.parse("2027-01-02T16:00:00Z"));
  });

  test("by the clock of this machine, as codex writes it", () => {
    const local = new Date(NOW + 26 * 3600_000);
    const hour = local.getHours() % 12 || 12;
    const half = local.getHours() < 12 ? "AM" : "PM";
    const minute = String(local.getMinutes()).padStart(2, "0");
    const month = local.toLocaleString("en-US", { month: "short" });
    const text = `try again at ${month} ${local.getDate()}th, ${local.getFullYear()} ${hour}:${minute} ${half}.`;
    expect(resetTime(text, NOW)).toBe(local.getTime());
  });

  test("through a change of the clocks", () => {
    const before = Date.parse("2026-10-24T20:00:00Z");
    expect(resetTime("resets Oct 25 at 4pm (Europe/Berlin)", before)).toBe(
      Date.parse("2026-10-25T15:00:00Z"),
    );
  });

  test.each([
    "try again later",
    "resets soon",
    "usage limit reached|1",
    "resets_at: 9999999999",
    "",
  ])("not said, past or too far: %s", (text) => {
    expect(at(text)).toBeNull();
  });

  test("is never in the past, whatever is said", () => {
    const words = [
      "resets",
      "again",
      "in",
      "at",
      "2pm",
      "Nov 31",
      "99:99 AM",
      "(UTC)",
      "retry",
      "|",
    ];
    const text = fc.array(fc.oneof(fc.constantFrom(...words), fc.nat().map(String), fc.string()));
    fc.assert(
      fc.property(text, (parts) => {
        const time = resetTime(parts.join(" "), NOW);
        expect(time === null || time > NOW).toBe(true);
      }),
    );
  });

  test("is found in no time in a long text that has it not", () => {
    const long = "again in 1 1 1 retry after ".repeat(40_000);
    expect(resetTime(`${"try again in ".repeat(80_000)}${long}`, NOW)).toBeNull();
  });
});

describe("a run that was broken off", () => {
  const exit = { exit: 1, signal: null, stderr: "", wasEnded: false };
  const brokenOff = (more: object, complaint: Complaint | null = null, lines: string[] = []) =>
    new Diagnosis(vendor, () => NOW).brokenOff({ ...exit, ...more }, complaint, lines);

  test("asks the stream first, stderr only when it was silent", () => {
    const stderr = "warning: 401 Unauthorized for one of many servers";
    expect(brokenOff({ stderr }, { message: "the disk is full" })).toEqual({
      kind: "failed",
      message: "v: exited with 1: the disk is full",
    });
    expect(brokenOff({ stderr }).kind).toBe("unauthorized");
  });

  test("by us is not blamed on what stderr said before", () => {
    const stderr = "Attempt 2 failed with status 429. Retrying with backoff";
    const ended = { exit: null, signal: "SIGTERM", stderr, wasEnded: true };
    expect(brokenOff(ended).kind).toBe("cut_off");
  });

  test("an empty message names the vendor", () => {
    expect(brokenOff({})).toEqual({
      kind: "failed",
      message: "v: exited with 1",
    });
  });

  test("takes the lines of stdout when stderr is empty", () => {
    const outcome = brokenOff({}, null, ["error: unknown option '--x'"]);
    expect(outcome.kind).toBe("refused");
  });
});
