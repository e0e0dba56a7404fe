import { describe, expect, test } from "vitest";
import { keyEnvOf, keyOf, urlOf } from "./connect.ts";

const at = (
  url: string | null,
  api: "anthropic" | "openai" = "openai",
  keyEnv: string | null = null,
) => ({
  url,
  api,
  keyEnv,
});

describe("the address", () => {
  test.each([
    [null, "openai", "https://api.openai.com/v1"],
    [null, "anthropic", "https://api.anthropic.com/v1"],
    ["http://localhost:11434", "openai", "http://localhost:11434/v1"],
    ["http://localhost:11434/", "openai", "http://localhost:11434/v1"],
    ["https://openrouter.ai/api/v1/", "openai", "https://openrouter.ai/api/v1"],
    ["https://api.anthropic.com", "anthropic", "https://api.anthropic.com/v1"],
  ] as const)("%s %s", (url, api, base) => expect(urlOf(at(url, api))).toBe(base));
});

describe("the key", () => {
  test("goes only to its own vendor", () => {
    expect(keyEnvOf(at(null, "anthropic"))).toBe("ANTHROPIC_API_KEY");
    expect(keyEnvOf(at("https://api.openai.com/v1"))).toBe("OPENAI_API_KEY");
    expect(keyEnvOf(at("https://elsewhere.example/v1", "openai", "MY_KEY"))).toBe("MY_KEY");
    const todo = expect.objectContaining({
      kind: "unauthorized",
      todo: expect.stringContaining("key_env"),
    });
    for (const url of ["https://elsewhere.example/v1", "https://api.openai.com.evil.example"]) {
      expect(() => keyEnvOf(at(url))).toThrow(expect.objectContaining({ outcome: todo }));
    }
  });

  test("is not needed on this machine", () => {
    for (const host of ["localhost", "127.0.0.1", "127.1.2.3", "[::1]", "ollama.localhost"]) {
      expect(keyOf(at(`http://${host}:11434`), { OPENAI_API_KEY: "k" })).toBeNull();
    }
    for (const host of ["localhost.example", "127.0.0.1.example", "10.0.0.1"]) {
      expect(() => keyOf(at(`http://${host}`), {})).toThrow();
    }
  });
});
