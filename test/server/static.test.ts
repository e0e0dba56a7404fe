import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { serveRun } from "./support.ts";

it("files of the page are compressed where that is understood, and sent once", async () => {
  const served = await serveRun();
  const folder = join(served.folder, "dist/web/assets");
  mkdirSync(folder, { recursive: true });
  const text = "export const a = 1;\n".repeat(500);
  writeFileSync(join(folder, "a-x1.js"), text);
  writeFileSync(join(folder, "../index.html"), "<!doctype html><title>v1</title>");
  symlinkSync("/etc/hostname", join(folder, "b.txt"));
  const ask = (path: string, headers: Record<string, string> = {}) => served.ask(path, { headers });

  const zipped = await ask("/assets/a-x1.js", { "accept-encoding": "br, gzip" });
  expect(zipped.headers.get("content-encoding")).toBe("gzip");
  expect(zipped.headers.get("cache-control")).toContain("immutable");
  expect(await zipped.text()).toBe(text);
  for (const refused of ["identity", "gzip;q=0, identity"]) {
    const plain = await ask("/assets/a-x1.js", { "accept-encoding": refused });
    expect(plain.headers.get("content-encoding"), refused).toBe(null);
    expect(await plain.text()).toBe(text);
  }

  const page = await ask("/");
  const etag = page.headers.get("etag") ?? "";
  expect([await page.text(), page.headers.get("cache-control")]).toEqual([
    expect.stringContaining("v1"),
    "no-cache",
  ]);
  const again = await ask("/", { "if-none-match": etag });
  expect([again.status, await again.text()]).toEqual([304, ""]);
  // Another build, under the same name.
  writeFileSync(join(folder, "../index.html"), "<!doctype html><title>version 2</title>");
  const other = await ask("/", { "if-none-match": etag });
  expect([other.status, await other.text()]).toEqual([200, expect.stringContaining("version 2")]);
  expect((await ask("/assets/b.txt")).status).toBe(404);
});
