import { existsSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * What takes longest, first: otherwise one worker ends with them while the other has nothing left
 * to do. (vitest remembers how long a file took, but not in a new clone.)
 */
const ORDER = [
  /^test\/examples\/(newsroom|snake-pit)\./,
  /^test\/crash\/(every-step|racing-claimers|pit-every-step|refused-or-done|damage|outage)\./,
  /^src\/queue\/fs\/fs-store\./,
  /^test\/(examples|board|mixed|crash)\//,
  /^test\/cli\/(demo-fleet|up|crew|engines|hostile-state)\./,
  /^test\//,
  /^src\/(queue|platform|warden)\//,
];

class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const root = `${this.ctx.config.root}/`;
    const rank = ({ moduleId }: TestSpecification) => {
      const at = ORDER.findIndex((one) => one.test(moduleId.replace(root, "")));
      return at === -1 ? ORDER.length : at;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}

/**
 * Where tests put their folders: in memory, for a disk that syncs is what many of them would wait
 * for. TMPDIR=/tmp npm test puts all of them on the disk; onDisk() of test/support/folders.ts those
 * that are about it.
 */
function temporaryFolder(): Record<string, string> {
  const memory = "/dev/shm";
  if (process.env.TMPDIR || !existsSync(memory)) return {};
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize > 2 ** 30 ? { TMPDIR: memory, VIV_TEST_DISK: tmpdir() } : {};
}

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    pool: "forks",
    // One more than the cores of a small machine: many tests wait for real processes. With two more,
    // questions of the warden go unanswered in time.
    maxWorkers: 3,
    // Files share a process, one after the other: to start one for each takes longer than most of
    // their tests do. So a test puts back what it changes: environment, clock, what it patched.
    isolate: false,
    env: temporaryFolder(),
    globalSetup: ["test/web/one-browser.ts"],
    sequence: { sequencer: SlowFirst },
    // Tests start real processes; on a busy machine those are slow long before they are stuck.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
