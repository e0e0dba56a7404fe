import { join, resolve } from "node:path";
import { isVivError } from "../base/errors.ts";
import { crewSection } from "../crew/config.ts";
import type { Target } from "../notify/config.ts";
import { deliver } from "../notify/deliver.ts";
import type { Said } from "../notify/message.ts";
import type { NotifyPorts } from "../notify/notify-ports.ts";
import { outboxIn } from "../notify/outbox-files.ts";
import type { Attempted } from "../notify/plan.ts";
import { type Context, runPlacePort } from "../operation/operation.ts";
import { findUp } from "../platform/files/search-up.ts";
import { stateFolder } from "../platform/files/state-files.ts";
import { wardenSection } from "../warden/config.ts";
import { OUTBOX } from "./outbox-places.ts";
import { requesterTargets } from "./warden-outbox.ts";

export function deliverHere(context: Context, target: Target, said: Said): Promise<Attempted> {
  const { here, now } = context;
  return deliver(target, said, { env: here.env, folder: here.config?.folder ?? here.cwd, now });
}

export function notifyPorts(): NotifyPorts {
  return {
    deliver: deliverHere,
    moreTargets: ({ here }) => requesterTargets(here.config?.section(wardenSection) ?? {}),
    outboxes: async (context) => {
      const run = await runHere(context);
      const places: [string, string | null, string][] = [
        ["run", run, OUTBOX.run],
        ["run", run, OUTBOX.pit],
        ["crew", crewHere(context), OUTBOX.crew],
        ["warden", wardenHere(context), OUTBOX.warden],
      ];
      return places.flatMap(([of, folder, name]) => {
        const files = folder === null ? null : outboxIn(join(folder, name));
        return files?.isThere() ? [{ of, files }] : [];
      });
    },
  };
}

/** Null where no run is meant. */
async function runHere(context: Context): Promise<string | null> {
  try {
    return (await context.use(runPlacePort)).path;
  } catch (error) {
    if (isVivError(error, "USAGE")) return null;
    throw error;
  }
}

function crewHere({ here }: Context): string | null {
  const state = here.config?.section(crewSection)?.state;
  if (here.config && state !== undefined) return resolve(here.config.folder, state);
  return findUp(".crew", here.cwd, here.env, () => {}); // one that is not ours has no outbox of ours
}

function wardenHere({ here }: Context): string {
  const state = here.config?.section(wardenSection)?.state;
  if (here.config && state !== undefined) return resolve(here.config.folder, state);
  return join(stateFolder(here.env, here.cwd), "warden");
}
