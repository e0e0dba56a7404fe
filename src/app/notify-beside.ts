import { basename, dirname, join } from "node:path";
import { messageOf } from "../base/errors.ts";
import type { CrewEvent } from "../crew/crew-ports.ts";
import { accountsInUse, accountsPort } from "../engines/accounts/accounts.ts";
import { notifySection, type Target } from "../notify/config.ts";
import { budgetNews } from "../notify/from-ledger.ts";
import { Intake, type Source } from "../notify/intake.ts";
import { type News, newsOf } from "../notify/news.ts";
import { outboxIn } from "../notify/outbox-files.ts";
import { runSource } from "../notify/run-source.ts";
import { Sender } from "../notify/sender.ts";
import { type NotifyService, notifyService } from "../notify/service.ts";
import type { Context } from "../operation/operation.ts";
import { guard } from "../platform/files/beneath.ts";
import { untilAborted } from "../platform/machine-retry.ts";
import type { Store } from "../queue/store.ts";
import { wardenFilesIn } from "../warden/warden-files.ts";
import type { WardenEvent } from "../warden/warden-host.ts";
import { isDrained } from "../work/drained.ts";
import { configWatchPort, WORK_SITE } from "../work/host.ts";
import type { WorkEvent } from "../work/operations/work.ts";
import { deliverHere } from "./notify-host.ts";
import { accountNews, executedNews, memberBudgetNews, parkedNews } from "./notify-news.ts";
import { OUTBOX } from "./outbox-places.ts";

export interface Beside {
  /** An event of the stream that runs. */
  hear(event: unknown): void;
  stop(): Promise<void>;
}

/**
 * Notifications beside a command that runs for long, or that made news: those of its run from the
 * ledger, those of a crew or a warden from their events.
 */
export async function notifyBeside(
  command: string,
  context: Context,
  store: Store | null,
  onError: (message: string) => void,
  /** It goes on for long: an edit of viv.toml counts from then on. */
  follows = false,
  /** What an error was about is over. */
  onWell: () => void = () => {},
): Promise<Beside> {
  const room = ROOMS[command] ?? "none";
  const services = new Map<string, NotifyService>();
  const underWay = new Set<Promise<unknown>>();
  // As viv.toml is now: a bad edit is told by the room, and the last good one counts.
  let { config } = context.here;
  const targets = () => config?.section(notifySection) ?? [];
  const serve = (outbox: string, place: string, source?: ReturnType<typeof runSource>) => {
    const known = services.get(outbox);
    if (known !== undefined) return known;
    const made = serviceIn(context, outbox, place, { targets, onError, onWell, source });
    services.set(outbox, made);
    return made;
  };
  /** Also without a target: what waits for one that is gone comes to its end. */
  const isNeeded = (outbox: string) =>
    targets().length > 0 || outboxIn(outbox).ids("new").length > 0;
  const ofRun = store && join(store.folder, store.extension(WORK_SITE) ? OUTBOX.pit : OUTBOX.run);
  const serveRun = async () => {
    if (store === null || ofRun === null || !isNeeded(ofRun) || services.has(ofRun)) return;
    guard(store.folder, "strict"); // handlers write there, too
    const source = runSource(
      store,
      () => isDrained(store, null, { isOverWhenPaused: false }),
      context.now,
    );
    await serve(ofRun, store.runId, source).ready;
  };
  await serveRun();
  let crewState: string | null = null;
  let wardenState: string | null = null;
  const enterAll = (outbox: string, place: string, news: readonly News[]) => {
    if (targets().length === 0) return;
    for (const one of news) serve(outbox, place).enter(one);
  };
  const now = () => new Date(context.now()).toISOString();

  const hearWork = async (event: WorkEvent) => {
    if (event.kind !== "held" || store === null || ofRun === null) return;
    const used = event.reasons.flatMap((text) => budgetNews(text, now()) ?? []);
    const { all } = await accountsInUse(context);
    enterAll(ofRun, store.runId, [...used.map(newsOf), ...all.flatMap(accountNews)]);
  };
  const hearCrew = async (event: CrewEvent) => {
    if (event.kind === "up") crewState = event.state;
    if (crewState === null) return;
    const place = `crew ${basename(dirname(crewState))}`;
    const news = event.kind === "parked" ? [parkedNews(event, now())] : [];
    if (event.kind === "held") {
      if (event.note.endsWith("are used up")) news.push(memberBudgetNews(event, now()));
      news.push(...(await context.use(accountsPort)).list().flatMap(accountNews));
    }
    const outbox = join(crewState, OUTBOX.crew);
    enterAll(outbox, place, news);
    if (event.kind === "up" && isNeeded(outbox)) serve(outbox, place);
  };
  const hearWarden = async (event: WardenEvent) => {
    if (event.kind === "up") wardenState = event.state;
    const isVerdict = event.kind === "verdict" && event.verdict === "executed";
    if (wardenState === null || !(isVerdict || event.kind === "up")) return;
    // From the receipts, which last: also those that no process was there to tell of.
    const receipts = wardenFilesIn(wardenState).receipts(context.now() - TOLD_LATE_MS);
    const executed = receipts.filter(({ verdict }) => verdict === "executed");
    const outbox = join(wardenState, OUTBOX.warden);
    if (isNeeded(outbox)) serve(outbox, "warden");
    enterAll(outbox, "warden", executed.map(executedNews));
  };

  const hearing: Partial<Record<string, (event: never) => Promise<void>>> = {
    ...{ work: hearWork, crew: hearCrew, warden: hearWarden },
  };
  const file = follows ? config?.file : undefined;
  const unfollow =
    file &&
    (await context.use(configWatchPort))(file, (read) => {
      if (!("config" in read)) return;
      config = read.config;
      serveRun().then(
        () => {
          for (const one of services.values()) one.wake();
        },
        (error: unknown) => onError(`notifications begin late: ${messageOf(error)}`),
      );
    });
  return {
    hear: (event) => {
      // Those of `viv up` are wrapped, with their room.
      const { of, event: inner } = event as { of: Room; event: unknown };
      const heard =
        command === "up" ? hearing[of]?.(inner as never) : hearing[room]?.(event as never);
      if (heard === undefined) return;
      const over: Promise<unknown> = heard
        .catch((error: unknown) => onError(`a notification is lost: ${messageOf(error)}`))
        .finally(() => underWay.delete(over));
      underWay.add(over);
    },
    stop: async () => {
      if (unfollow) unfollow();
      const end = async () => {
        await Promise.all(underWay);
        await Promise.all([...services.values()].map((one) => one.stop()));
      };
      // What is under way then is unsure, and what waits is there for the next process.
      await Promise.race([end(), untilAborted(context.urgent)]);
    },
  };
}

type Room = "work" | "crew" | "warden" | "none";

/** The commands with news, and the room that their events are of. */
const ROOMS: Record<string, Room> = {
  ...{ work: "work", up: "none", "crew up": "crew", "keeper up": "crew", "warden up": "warden" },
  // These end soon, and leave lines in the ledger.
  ...{ merge: "none", sync: "none", pr: "none" },
};

/** An execution that is older is in the warden's own record. */
const TOLD_LATE_MS = 86_400_000;

interface ServiceNeeds {
  targets(): readonly Target[];
  onError(message: string): void;
  onWell(): void;
  source?: Source & { onNews(act: () => void): () => void };
}

function serviceIn(
  context: Context,
  outbox: string,
  place: string,
  { targets, onError, onWell, source }: ServiceNeeds,
): NotifyService {
  const { now } = context;
  const files = outboxIn(outbox);
  const intake = new Intake(files, { place, targets, now, source });
  const sender = new Sender(files, {
    ...{ targets, now, random: Math.random, knowsAll: true },
    deliver: (target, said) => deliverHere(context, target, said),
  });
  return notifyService({ intake, sender, now, watch: source?.onNews, onError, onWell });
}
