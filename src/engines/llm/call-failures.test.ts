import { APICallError } from "ai";
import { describe, expect, test } from "vitest";
import {
  type CallFailure,
  callWithRetries,
  classify,
  Ended,
  type RetryOptions,
  resetTime,
} from "./call-failures.ts";

const NOW = Date.parse("2026-03-01T12:00:00Z");
const CALL = { model: "m", url: "https://api.example", keyEnv: "MY_KEY", now: NOW };

const api = (statusCode: number, body: unknown, headers: Record<string, string> = {}) =>
  new APICallError({
    message: typeof body === "string" ? body : "said",
    url: "u",
    requestBodyValues: {},
    statusCode,
    responseHeaders: headers,
    responseBody: typeof body === "string" ? body : JSON.stringify(body),
  });

describe("a failure", () => {
  const end = (error: unknown) => {
    const failure = classify(error, CALL);
    return failure.kind === "end" ? failure.outcome.kind : failure.kind;
  };

  test.each([
    [401, "", "unauthorized"],
    [403, "", "unauthorized"],
    [402, "", "quota"],
    [429, "insufficient_quota", "quota"],
    [400, "Your credit balance is too low", "quota"],
    [429, "", "limited"],
    [529, "", "limited"],
    [404, "", "refused"],
    [400, "does not support tools", "refused"],
    [422, "", "refused"],
    [400, "prompt is too long: 210000 tokens > 200000 maximum", "too_long"],
    [400, '{"error":{"code":"context_length_exceeded"}}', "too_long"],
    [413, "request_too_large", "too_long"],
    [408, "", "again"],
    [500, "", "again"],
    [503, "", "again"],
    [200, "Failed to process successful response", "again"],
  ])("%i %s: %s", (status, body, kind) => expect(end(api(status, body))).toBe(kind));

  test.each([
    [{ type: "overloaded_error", message: "Overloaded" }, "again"],
    [{ type: "rate_limit_error", message: "slow down" }, "limited"],
    [{ type: "authentication_error", message: "no" }, "unauthorized"],
    [{ message: "no more", code: "insufficient_quota" }, "quota"],
    [new TypeError("terminated"), "again"],
    ["a text", "again"],
    [null, "again"],
    [undefined, "again"],
  ])("in the stream: %j", (error, kind) => expect(end(error)).toBe(kind));

  test.each([
    [api(500, ""), true],
    [api(503, ""), true],
    [{ type: "overloaded_error", message: "Overloaded" }, true],
    [new Error("Cannot connect to API: connect ECONNREFUSED 127.0.0.1:11434"), true],
    [api(408, ""), false],
    [new TypeError("terminated"), false],
  ])("whether the vendor is at fault: %j", (error, isTheirs) => {
    expect(classify(error, CALL)).toMatchObject({ kind: "again", isTheirs });
  });

  test("the first event of a stream is an error: the package calls all of them 500", () => {
    expect(end(api(500, { type: "rate_limit_error", message: "slow" }))).toBe("limited");
  });

  test("the next step names the variable", () => {
    const todo = (status: number) => {
      const failure = classify(api(status, ""), CALL);
      return failure.kind === "end" && "todo" in failure.outcome ? failure.outcome.todo : "";
    };
    expect(todo(401)).toContain("MY_KEY");
    expect(todo(402)).toContain("MY_KEY");
  });
});

describe("the end of a limit", () => {
  test.each([
    [{ "retry-after": "5" }, 5_000],
    [{ "retry-after": "0" }, 0],
    [{ "retry-after-ms": "1500", "retry-after": "9" }, 1_500],
    [{ "retry-after": "Sun, 01 Mar 2026 12:01:00 GMT" }, 60_000],
    [{ "retry-after": "soon" }, null],
    [{}, null],
    [
      {
        "anthropic-ratelimit-requests-remaining": "7",
        "anthropic-ratelimit-requests-reset": "2026-03-01T18:00:00Z",
        "anthropic-ratelimit-input-tokens-remaining": "0",
        "anthropic-ratelimit-input-tokens-reset": "2026-03-01T12:02:00Z",
      },
      120_000,
    ],
    [{ "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m0s" }, 360_000],
    [{ "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1.5s" }, 1_500],
    [{ "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "?" }, null],
  ])("%j", (headers, after) => {
    expect(resetTime(headers as Record<string, string>, NOW)).toBe(
      after === null ? null : NOW + after,
    );
  });
});

describe("retrying a call", () => {
  /** Fails with these, one after the other, and then succeeds. */
  async function attempt(failures: CallFailure[], more: Partial<RetryOptions> = {}) {
    const pauses: number[] = [];
    const said: string[] = [];
    const left = [...failures];
    const call = async () => {
      if (left.length > 0) throw new Error("failed");
      return "ok";
    };
    const ended = await callWithRetries(call, () => left.shift() as CallFailure, {
      retryMs: 1_000,
      now: () => NOW,
      sleep: async (ms) => void pauses.push(ms),
      onAgain: (text) => void said.push(text),
      shorten: () => true,
      ...more,
    }).catch((error) => (error as Ended).outcome);
    return { ended, pauses, said };
  }
  const again: CallFailure = { kind: "again", message: "HTTP 500" };
  const limit = (ms: number | null): CallFailure => ({
    kind: "limited",
    message: "HTTP 429",
    until: ms === null ? null : NOW + ms,
  });
  const long: CallFailure = { kind: "too_long", message: "HTTP 400" };

  test("three retries, each after twice the pause", async () => {
    const { ended, pauses, said } = await attempt([again, again, again]);
    expect(ended).toBe("ok");
    expect(pauses).toEqual([1_000, 2_000, 4_000]);
    expect(said[1]).toBe("HTTP 500; trying again in 2 s (2 of 3)");
    expect((await attempt([again, again, again, again])).ended).toMatchObject({ kind: "failed" });
  });

  test("a fault of the vendor ends the run as unavailable", async () => {
    const theirs: CallFailure = { ...again, isTheirs: true };
    expect((await attempt([theirs, theirs, theirs, theirs])).ended).toEqual({
      kind: "unavailable",
      message: "HTTP 500 (tried 4 times)",
      until: null,
    });
  });

  test("a limit of up to thirty seconds is waited for, twice", async () => {
    const { ended, pauses } = await attempt([limit(30_000), limit(5_000)]);
    expect(ended).toBe("ok");
    expect(pauses).toEqual([30_000, 5_000]);
    expect((await attempt([limit(-5)])).pauses).toEqual([0]);
    expect((await attempt([limit(1), limit(1), limit(7_000)])).ended).toEqual({
      kind: "rate_limited",
      message: "HTTP 429",
      until: "2026-03-01T12:00:07.000Z",
    });
  });

  test("a longer one, or one without a time, is not", async () => {
    expect((await attempt([limit(30_001)])).ended).toMatchObject({
      until: "2026-03-01T12:00:30.001Z",
    });
    expect((await attempt([limit(null)])).ended).toMatchObject({ until: null });
  });

  test("too long: shorter, three times at most", async () => {
    expect((await attempt([long, long, long])).ended).toBe("ok");
    expect((await attempt([long, long, long, long])).ended).toMatchObject({ kind: "refused" });
    expect((await attempt([long], { shorten: () => false })).ended).toMatchObject({
      kind: "refused",
      message: expect.stringContaining("context_tokens"),
    });
  });

  test("a certain outcome ends at once", async () => {
    const outcome = { kind: "refused" as const, message: "no" };
    expect((await attempt([{ kind: "end", outcome }])).ended).toEqual(outcome);
    const sure = async () => {
      throw new Ended(outcome);
    };
    const never = () => {
      throw new Error("not asked");
    };
    await expect(callWithRetries(sure, never, {} as RetryOptions)).rejects.toBeInstanceOf(Ended);
  });
});
