import * as z from "zod/mini";
import { isVivError, messageOf } from "../base/errors.ts";
import { events } from "../operation/fields.ts";
import { type Nothing, serve } from "../operation/operation.ts";
import { defineRunStream } from "../queue/operation.ts";
import { DEFAULT_LOG_BYTES } from "../work/attempt.ts";
import { limitsSection } from "../work/config-route.ts";
import { type ConfigRead, configWatchPort, workerHostPort } from "../work/host.ts";
import { routeFromConfig } from "../work/ready-route.ts";
import type { BesideEvent, WorkerEvent } from "../work/worker-options.ts";
import { mergeBeside } from "./beside.ts";
import { DEFAULT_MERGE, mergeSection } from "./config.ts";
import { forgePort } from "./forge/forge.ts";
import type { MergeContext } from "./session.ts";

/** What `viv merge --auto` emits. */
export type FollowEvent =
  | { kind: "follows" }
  | ({ kind: "landing" } & BesideEvent)
  | { kind: "trouble"; code: string; message: string };

/** The merge queue without a worker: it lands work as it is done, until it is stopped. */
export const mergeFollow = defineRunStream({
  name: "merge follow",
  summary: "land work as it is done, until stopped",
  access: "write",
  input: z.strictObject({}),
  event: events<FollowEvent>(),
  output: z.object({}),
  drains: true,
  async *stream(context) {
    const { store, here, use } = context;
    const host = await use(workerHostPort);
    const watch = await use(configWatchPort);
    // A bad edit is told by `viv up`; the last good one counts.
    let { config } = here;
    const settings = () => ({ ...(config?.section(mergeSection) ?? DEFAULT_MERGE), auto: true });
    const openPullRequests: MergeContext["openPullRequests"] = async (ids, tell) => {
      const { openPullRequests: open } = await import("./forge/open.ts");
      await open({ store, host: await use(forgePort), config }, ids, { tell });
    };
    return yield* serve<FollowEvent, Nothing>(context, (emit) => {
      const options = {
        routeFor: (type: string) => config && routeFromConfig(config, host, type),
        killAfterMs: 5_000,
        logBytes: config?.section(limitsSection).logBytes ?? DEFAULT_LOG_BYTES,
        onEvent: (event: WorkerEvent) => tell(event, emit),
      };
      let stop = () => {};
      const stopped = new Promise<void>((resolve) => {
        stop = resolve;
      });
      return {
        stop,
        run: async () => {
          const take = (read: ConfigRead) => {
            if ("config" in read) config = read.config;
          };
          const unwatch = config && watch(config.file, take);
          const queue = mergeBeside(store, host, options, settings, { openPullRequests });
          emit({ kind: "follows" });
          await stopped;
          unwatch?.();
          await queue.stop();
          return {};
        },
      };
    });
  },
});

function tell(event: WorkerEvent, emit: (event: FollowEvent) => void): void {
  if (event.kind === "landing") emit({ kind: "landing", ...event.landing });
  if (event.kind !== "trouble") return;
  const { error } = event;
  emit({
    kind: "trouble",
    code: isVivError(error) ? error.code : "BUG",
    message: messageOf(error),
  });
}
