import type { Machine } from "../base/clock.ts";
import type { Timers } from "../platform/processes/children.ts";
import type { Store } from "../queue/store.ts";
import type { HeldNotice, Receipt } from "./dance.ts";
import type { AgentDirectory } from "./directory.ts";
import { epitaphOf } from "./epitaph.ts";
import type { WardenFiles } from "./files.ts";
import { reapClaims } from "./finish.ts";
import type { WardenEvent, WardenSettings } from "./ports.ts";
import type { Resolved } from "./resolve.ts";
import { type RuleEvent, type RulesHost, type RulesSettings, RuleWatch } from "./rule-watch.ts";
import type { Suspects } from "./suspects/suspect.ts";
import { Warden } from "./warden.ts";
import type { TargetKind } from "./warrant.ts";

/** What a warden that is up needs of the machine. */
export interface UpHost {
  machine: Machine;
  timers: Timers;
  files: WardenFiles;
  suspects: Suspects;
  newId(): string;
  newNonce(): string;
  /** For reading only, and for giving back what an executed worker held. */
  openRun(path: string): Promise<Store>;
  openForReaping(path: string): Promise<Store>;
  directory: AgentDirectory;
  resolve(kind: TargetKind, name: string, home: string | null): Promise<Resolved>;
  notifyVerdict(receipt: Receipt): Promise<Receipt["told"]>;
  notifyHeld(notice: HeldNotice): Promise<Receipt["told"]>;
  sessionsOn: RulesHost["sessionsOn"];
  writtenAt: RulesHost["writtenAt"];
  usdOn: RulesHost["usdOn"];
}

export interface UpOptions {
  settings: WardenSettings;
  rules: RulesSettings;
  budgetFor: RulesHost["budgetFor"];
}

/** The pool and its rules together: the rules look only while the pool has its folder. */
export class WardenUp {
  readonly #warden: Warden;
  readonly #rules: RuleWatch;

  constructor(options: UpOptions, host: UpHost, emit: (event: WardenEvent | RuleEvent) => void) {
    const { files } = host;
    const pool = {
      ...{ machine: host.machine, timers: host.timers, files, suspects: host.suspects },
      newNonce: host.newNonce,
      epitaph: epitaphOf,
      notifyVerdict: host.notifyVerdict,
      notifyHeld: host.notifyHeld,
      reap: (receipt: Receipt) => reapClaims(receipt, files.folder, host.openForReaping),
    };
    this.#rules = new RuleWatch(
      options.rules,
      {
        ...host,
        budgetFor: options.budgetFor,
        file: (warrant) => files.file(warrant),
        open: () => [...files.dances().map(({ warrant }) => warrant), ...files.queued().warrants],
        receipts: (since) => files.receipts(since),
        record: (line) => files.recordFinding(line),
      },
      emit,
    );
    this.#warden = new Warden(options.settings, pool, (event) => {
      emit(event);
      if (event.kind === "up") this.#rules.start();
    });
  }

  async run(): Promise<void> {
    try {
      await this.#warden.run();
    } finally {
      await this.#rules.stop();
    }
  }

  stop(): void {
    this.#warden.stop();
  }
}
