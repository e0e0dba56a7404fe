import { type Context, definePort } from "../operation/operation.ts";
import type { Target } from "./config.ts";
import type { Said } from "./message.ts";
import type { OutboxFiles } from "./outbox-files.ts";
import type { Attempted } from "./plan.ts";

/** What the commands of notifications need of the machine. */
export interface NotifyPorts {
  /** The outboxes that there are: of the run, the crew and the warden that are meant here. */
  outboxes(context: Context): Promise<{ of: string; files: OutboxFiles }[]>;
  /** Those of the warden, which no `[[notify]]` names. */
  moreTargets(context: Context): Target[];
  deliver(context: Context, target: Target, said: Said): Promise<Attempted>;
}

export const notifyPort = definePort<NotifyPorts>("notify");
