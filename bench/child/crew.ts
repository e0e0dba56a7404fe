// A crew whose runs do nothing, with the files, clocks and gate that a real one has. It says what it
// used of the processor, its memory, and how late its ticks were.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { Crew } from "../../src/crew/crew.ts";
import { crewFilesIn } from "../../src/crew/crew-files.ts";
import { parseManifest } from "../../src/crew/manifest.ts";
import { prepare } from "../../src/crew/prompt.ts";
import { gateInMemory } from "../../src/gate/gate.ts";
import { acquireFolder } from "../../src/platform/files/file-lock.ts";
import { stampOf, watchFolders } from "../../src/platform/files/watch.ts";
import { timers } from "../../src/platform/processes/children.ts";
import { localMachine } from "../../src/platform/processes/machine.ts";

const { folder, members, warmUpMs, measuredMs } = JSON.parse(process.argv[2] ?? "{}");
const manifest = join(folder, "crew.org");
const state = join(folder, ".crew");
const INTERVAL_MS = 60_000;

const heading = (_: unknown, i: number) =>
  `* m${i}\n:PROPERTIES:\n:DEF: def.org\n:INTERVAL: ${INTERVAL_MS}\n:END:\n`;
writeFileSync(join(folder, "def.org"), "You do nothing.\n");
writeFileSync(manifest, Array.from({ length: members }, heading).join(""));

const machine = localMachine();
const files = crewFilesIn(state);
mkdirSync(state);
const readText = (path: string) => readFileSync(path, "utf8");
// As after its first minute: every file is there, and every member is due in its turn.
for (let i = 0; i < members; i++) files.writeLastRun(`m${i}`, Date.now() - INTERVAL_MS);
const due = new Map<string, number>();
let late: number[] = [];

const crew = new Crew(
  { manifest, isSingleton: false, graceMs: 0, staggerMs: INTERVAL_MS / members },
  {
    machine,
    timers,
    files,
    take: () => acquireFolder(state),
    readManifest: () => parseManifest(readText(manifest), { file: manifest, format: "org" }),
    stampOf: (paths) => paths.map((path) => stampOf(resolve(dirname(manifest), path))).join(" "),
    watch: (act) => watchFolders([folder, join(state, "inbox")], act),
    endLeftover: async () => [],
    gate: gateInMemory({ max: 2, clock: machine.clock }),
    runner: {
      isDue: async () => ({ due: true, note: "" }),
      prepare: (member) =>
        prepare({ folder, readText, position: () => null, recent: () => "" }, member),
      heldBy: () => null,
      run: async () => ({ kind: "ended", outcome: "done", note: "", usd: null }),
    },
    emit: (event) => {
      if (event.kind === "next") due.set(event.name, performance.now() + event.after_ms);
      if (event.kind === "runs") late.push(performance.now() - (due.get(event.name) ?? 0));
      if (event.kind === "trouble") throw new Error(event.message);
    },
  },
);

await crew.take();
await crew.begin();
setTimeout(() => {
  late = [];
  const before = process.cpuUsage();
  const begin = performance.now();
  setTimeout(() => {
    const { user, system } = process.cpuUsage(before);
    const percent = (user + system) / 10 / (performance.now() - begin);
    const [, peak = "0"] = /VmHWM:\s+(\d+) kB/.exec(readText("/proc/self/status")) ?? [];
    const inTime = (100 * late.filter((ms) => ms <= 50).length) / late.length;
    process.send?.({ percent, peakMb: Number(peak) / 1024, ticks: late.length, inTime, late });
    void crew.stop().then(() => process.disconnect?.());
  }, measuredMs);
}, warmUpMs);
