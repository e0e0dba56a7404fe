import { describe, expect, it } from "vitest";
import { type Facts, isOurHost, isSame, judge, type Place } from "./trust.ts";

const here: Place = { bind: "127.0.0.1", isTls: false, hosts: [], origins: ["https://a.example"] };
const abroad: Place = { bind: "0.0.0.0", isTls: true, hosts: ["viv.example.org"], origins: [] };

function judged(facts: Partial<Facts>, place = here): string {
  const verdict = judge(
    {
      ...{ method: "GET", path: "/api/ls", host: "127.0.0.1:4747", origin: undefined },
      ...{ site: undefined, mode: undefined, bearer: "none", hasSession: false, peer: "ours" },
      ...facts,
    },
    place,
  );
  if (verdict.is === "refused") return String(verdict.status);
  return verdict.mayChange ? "change" : "read";
}

describe("a request on loopback", () => {
  it("reads without a token, and changes with it", () => {
    expect(judged({})).toBe("read");
    expect(judged({ method: "POST" })).toBe("read"); // which is not enough
    expect(judged({ bearer: "right", method: "POST" })).toBe("change");
    expect(judged({ bearer: "wrong" })).toBe("401");
  });

  it("of another user is refused, also with a cookie that it may have seen, but not with the token", () => {
    expect(judged({ peer: "other" })).toBe("401");
    expect(judged({ peer: "other", hasSession: true })).toBe("401");
    expect(judged({ peer: "other", bearer: "right" })).toBe("change");
    expect(judged({ peer: "other", path: "/healthz" })).toBe("read");
  });

  it("needs a secret where the machine does not tell whose it is", () => {
    expect(judged({ peer: "unknown" })).toBe("401");
    expect(judged({ peer: "unknown", hasSession: true })).toBe("change");
  });

  it("with a cookie changes only from our own page", () => {
    const post = { method: "POST", hasSession: true };
    expect(judged({ ...post, origin: "http://127.0.0.1:4747" })).toBe("change");
    expect(judged(post)).toBe("read");
    for (const origin of [
      ...["http://127.0.0.1:9999", "https://127.0.0.1:4747", "http://localhost:4747", "null"],
      ...["http://127.0.0.1:4747.evil.example", "http://evil.example", "file://"],
    ]) {
      expect(judged({ ...post, origin }), origin).toBe("403");
    }
  });
});

it("only our names in Host are answered: another name may point here (DNS rebinding)", () => {
  for (const host of ["127.0.0.1:4747", "localhost", "LOCALHOST:1", "[::1]:4747"]) {
    expect(judged({ host }), host).toBe("read");
  }
  const bad = [
    "evil.example",
    "127.0.0.1.evil.example",
    "localhost.",
    "",
    undefined,
    "127.0.0.2:4747",
  ];
  for (const host of [...bad, "127.0.0.1:4747@evil.example", "127.0.0.1, evil.example", "a b"]) {
    expect(judged({ host, bearer: "right" }), String(host)).toBe("403");
  }
  expect(isOurHost("viv.example.org:8443", abroad)).toBe(true);
  expect(isOurHost("VIV.example.org", abroad)).toBe(true);
});

it("a foreign page loads nothing; a person may follow its link", () => {
  for (const site of ["cross-site", "same-site"]) {
    expect(judged({ site, mode: "no-cors" })).toBe("403");
    expect(judged({ site, mode: "navigate" })).toBe("read");
    expect(judged({ site, mode: "navigate", method: "POST" })).toBe("403");
  }
  expect(judged({ site: "same-origin", mode: "cors" })).toBe("read");
});

it("a named origin reads /_activity, and nothing else", () => {
  const origin = "https://a.example";
  expect(judged({ origin, path: "/_activity", site: "cross-site", mode: "cors" })).toBe("read");
  expect(judged({ origin, path: "/_activity", method: "OPTIONS", peer: "other" })).toBe("read");
  expect(judged({ origin, path: "/_activity", peer: "other" })).toBe("401");
  expect(judged({ origin, path: "/api/ls" })).toBe("403");
  expect(judged({ origin: "https://b.example", path: "/_activity" })).toBe("403");
});

it("on another interface everything needs a secret, but for the sign of life", () => {
  const host = "viv.example.org";
  expect(judged({ host }, abroad)).toBe("401");
  expect(judged({ host, path: "/" }, abroad)).toBe("401");
  expect(judged({ host, path: "/healthz" }, abroad)).toBe("read");
  expect(judged({ host, path: "/login" }, abroad)).toBe("read");
  expect(judged({ host, hasSession: true, peer: "other" }, abroad)).toBe("change");
  const post = { host, hasSession: true, method: "POST" };
  expect(judged({ ...post, origin: "https://viv.example.org" }, abroad)).toBe("change");
  expect(judged({ ...post, origin: "http://viv.example.org" }, abroad)).toBe("403");
  // Behind a proxy with a certificate.
  const proxied = { ...abroad, isTls: false };
  expect(judged({ ...post, origin: "https://viv.example.org" }, proxied)).toBe("change");
});

it("secrets are the same only if all of them is", () => {
  expect(isSame("abc", "abc")).toBe(true);
  for (const wrong of ["", "ab", "abd", "abcd", "abc\0", "äbc"])
    expect(isSame(wrong, "abc")).toBe(false);
});
