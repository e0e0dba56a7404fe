import { existsSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * What takes longest, first: otherwise one worker ends with them while the other has nothing left
 * to do. (vitest remembers how long a file took, but not in a new clone.) Files that mostly wait, for
 * a warden's questions or a fleet, stand between files that compute: so they share two cores well.
 */
const ORDER = [
  /^test\/warden\/dances\./, // waits
  /^test\/crash\/refused-or-done\./,
  /^test\/examples\/newsroom\./,
  /^src\/warden\/suspects\/session-suspect\./, // waits
  /^test\/crash\/pit-every-step\./,
  /^src\/merge\/queue\./,
  /^test\/cli\/up\./, // waits
  /^test\/crash\/own-branch\./,
  /^test\/cli\/fleet\./, // waits
  /^test\/crash\/merge-every-step\./,
  /^test\/warden\/killed\./, // waits
  /^test\/crash\/damage\./,
  /^test\/cli\/crew\./, // waits
  /^src\/work\/workspaces\./,
  /^src\/warden\/suspects\/session-exact\./, // waits
  /^test\/merge\/sync\./,
  /^test\/web\/(demo|views|page)\./,
  /^test\/warden\/seed-pool\./, // waits
  /^test\/crash\/(setup-every-step|every-step|racing-claimers|outage)\./,
  /^src\/work\/workspaces\/onto\./,
  /^src\/platform\/tmux\/tmux-lost\./, // waits
  /^test\/docs\/docs\./,
  /^test\/examples\/snake-pit\./,
  /^test\/cli\/(templates|machine-errors|pause-worker)\./,
  /^src\/merge\/right-of-way\./,
  /^test\/engines\/llm-bad-days\./,
  /^src\/queue\/fs\/fs-store\./,
  /^test\/(examples|board|mixed|crash)\//,
  /^test\//,
  /^src\/(queue|platform|warden|merge|work)\//,
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
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000, interval: 20 } },
  },
});
