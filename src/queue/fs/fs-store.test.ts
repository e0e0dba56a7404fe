import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FakeHost } from "../../../test/support/machine.ts";
import { openRun } from "../../main.ts";
import { describeStore } from "../conformance/describe-store.ts";
import type { StoreHarness } from "../conformance/harness.ts";
import type { Store } from "../store.ts";

const harnessOf = (layout: "run" | "pit") => async (): Promise<StoreHarness> => {
  const folder = mkdtempSync(join(tmpdir(), "viv-store-"));
  const host = new FakeHost();
  const processes = new Map<Store, { die(): void }>();
  return {
    async open(options = {}) {
      const machine = host.process();
      const store = await openRun(join(folder, "run"), {
        ...{ create: true, machine, layout },
        ...options,
      });
      processes.set(store, machine);
      return store;
    },
    kill(store) {
      processes.get(store)?.die();
      processes.delete(store);
    },
    clock: {
      now: () => host.clock.now(),
      advance: (ms) => host.advance(ms),
      jumpWall: (ms) => host.jumpWall(ms),
    },
    trees: {
      start: () => host.tree(),
      isAlive: (pid) => host.isAlive(pid),
      makeStubborn: (pid) => void host.stubborn.add(pid),
      die: (pid) => host.endProcess(pid),
      onEnd: (act) => {
        host.onEnd = ({ pid }) => act(pid);
      },
    },
    keepsLoneChokes: layout === "pit",
    async cleanup() {
      for (const store of processes.keys()) await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
};

describeStore("a run directory", harnessOf("run"));
describeStore("a pit", harnessOf("pit"));
