import { defineConfig } from "vitest/config";

/** With the vendors' real programs: only `npm run test:vendors` runs these. */
export default defineConfig({
  test: {
    root: new URL("../..", import.meta.url).pathname,
    include: ["test/vendors/**/*.vendors.ts"],
    pool: "forks",
    // Each of these programs takes a core and half a gigabyte while it starts.
    maxWorkers: 1,
    testTimeout: 300_000,
    hookTimeout: 60_000,
  },
});
