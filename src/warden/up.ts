import type { Store } from "../queue/store.ts";
import type { Receipt } from "./dance.ts";
import { reapClaims } from "./finish-dance.ts";
import type { WardenEvent, WardenHost, WardenSettings } from "./ports.ts";
import { type RuleEvent, type RulesHost, type RulesSettings, RuleWatch } from "./rule-watch.ts";
import { Warden } from "./warden.ts";

/** What a warden that is up needs of the machine. */
export interface UpHost
  extends Omit<WardenHost, "reap">,
    Omit<RulesHost, "budgetFor" | "file" | "open" | "receipts" | "record"> {
  /** For giving back the claims of an executed worker. */
  openForReaping(path: string): Promise<Store>;
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
    const reap = (receipt: Receipt) => reapClaims(receipt, files.folder, host.openForReaping);
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
    this.#warden = new Warden(options.settings, { ...host, reap }, (event) => {
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
