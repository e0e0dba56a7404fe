import { resolve } from "node:path";
import * as z from "zod/mini";
import { messageOf, VivError } from "../base/errors.ts";
import { events, flag, text } from "../operation/fields.ts";
import {
  type Context,
  defineOperation,
  defineStream,
  runPlacePort,
  serve as served,
} from "../operation/operation.ts";
import { DEFAULT_PORT, type ServerSettings, serverSection } from "./config.ts";
import { secretsIn } from "./secrets.ts";
import { readServer, removeServer, untilDone, writeServer } from "./server-file.ts";
import { serverPort } from "./server-host.ts";

/** What `viv serve` reports, one JSON object per line. */
export type ServeEvent =
  | { kind: "up"; pid: number; address: string; run: string }
  | { kind: "trouble"; message: string }
  | { kind: "reloaded"; file: string }
  /** It could be written after all. */
  | { kind: "written"; file: string }
  | { kind: "stopping" }
  | { kind: "finished" };

const port = z.optional(
  z
    .int()
    .check(z.gte(0), z.lte(65_535))
    .check(
      z.describe("port; 0: any free one (default: [server], else the first free one from 4747)"),
    ),
);

export const serve = defineStream({
  name: "serve",
  summary: "answer HTTP for a run: the page, the operations, events, metrics",
  input: z.strictObject({
    port,
    bind: text("address to listen on (default: [server], else 127.0.0.1)"),
  }),
  event: events<ServeEvent>(),
  output: z.object({}),
  stream: (context, given) =>
    served<ServeEvent, Record<string, never>>(context, async (emit) => {
      const host = await context.use(serverPort);
      const place = await context.use(runPlacePort);
      const path = resolve(context.here.cwd, place.path);
      const config = place.config ?? context.here.config;
      const settings = { ...settingsOf(config), ...givenOf(given) };
      const { startServer } = await import("./server.ts");
      const warn = (message: string) => emit({ kind: "trouble", message });
      const onReloaded = (file: string) => emit({ kind: "reloaded", file });
      let stop = () => {};
      const stopped = new Promise<void>((done) => {
        stop = done;
      });
      return {
        async run() {
          const run = { path, config, onDependencyFailed: place.onDependencyFailed };
          const { keepNewSpaceSmall } = await import("./memory.ts");
          keepNewSpaceSmall();
          const server = await startServer({ host, run, settings, warn, onReloaded });
          // Other commands do not find the server until then; it serves all the same.
          const endWriting = untilDone(
            () => {
              const before = writeServer(path, host.machine, server.address);
              if (before !== null) {
                warn(`another server answers for this run at ${before.address}, pid ${before.pid}`);
              }
            },
            (error) => warn(notWritten(error)),
            () => emit({ kind: "written", file: SERVER_FILE }),
          );
          try {
            emit({ kind: "up", pid: process.pid, address: server.address, run: path });
            await stopped;
            emit({ kind: "stopping" });
          } finally {
            endWriting();
            try {
              removeServer(path, host.machine);
            } catch (error) {
              warn(notWritten(error));
            }
            await server.stop();
          }
          emit({ kind: "finished" });
          return {};
        },
        stop: () => stop(),
      };
    }),
});

const SERVER_FILE = ".viv/server.json";

function notWritten(error: unknown): string {
  return `${SERVER_FILE} could not be written: ${messageOf(error)}`;
}

function settingsOf(config: Context["here"]["config"]): ServerSettings {
  const none: ServerSettings = {
    port: DEFAULT_PORT,
    isDefaultPort: true,
    bind: "127.0.0.1",
    insecure: false,
    hosts: [],
    origins: [],
  };
  return config?.section(serverSection) ?? none;
}

function givenOf({ port, bind }: { port?: number; bind?: string }): Partial<ServerSettings> {
  const chosen = port === undefined ? {} : { port, isDefaultPort: false };
  return { ...chosen, ...(bind !== undefined && { bind }) };
}

export const token = defineOperation({
  name: "token",
  summary: "the token for changes over HTTP; a login link for a browser",
  input: z.strictObject({
    link: flag("a link that logs a browser in, once"),
    renew: flag("replace the token; ends all sessions"),
  }),
  output: z.object({
    token: z.optional(z.string()),
    /** Works once. */
    link: z.optional(z.string()),
    renewed: z.boolean(),
  }),
  async run(context, { link, renew }) {
    if (link && renew) throw new VivError("USAGE", "choose one of --link and --renew.");
    const { state, machine } = await context.use(serverPort);
    const secrets = secretsIn(state);
    if (renew) return { token: secrets.renew(), renewed: true };
    if (!link) return { token: secrets.token(), renewed: false };
    const address = await serverAddress(context, machine);
    return { link: `${address}/login?code=${secrets.newCode(context.now())}`, renewed: false };
  },
});

/** Of the server of the run that is meant here. */
async function serverAddress(
  context: Context,
  machine: Parameters<typeof readServer>[1],
): Promise<string> {
  const { path } = await context.use(runPlacePort);
  const found = readServer(resolve(context.here.cwd, path), machine);
  if (found !== null) return found.address;
  throw new VivError("TARGET_NOT_FOUND", `no server runs for ${path}; start one with: viv serve`);
}
