import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    pool: "forks",
    maxWorkers: 2,
    // Tests start real processes; on a busy machine those are slow long before they are stuck.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
