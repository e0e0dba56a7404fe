import type { HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { Hono, type Context as HonoContext } from "hono";
import type { Command, Values } from "../operation/command.ts";
import { flagsOf } from "../operation/flags.ts";
import { type Call, changesSomething, isStream } from "../operation/operation.ts";
import { personIn } from "../operation/person.ts";
import { checkedInput, inputFromBody, inputFromQuery } from "./given-input.ts";
import { errorAnswer, HttpError } from "./http-errors.ts";
import { inHttpWords } from "./http-words.ts";
import { KeptAnswers } from "./kept-answers.ts";
import type { KeptRun } from "./kept-run.ts";
import { formFor, outputOf, STREAM_TYPES, sendStream } from "./operation-stream.ts";
import { bodyOf, untilGone } from "./requests.ts";
import type { Exposed, ServerHost } from "./server-host.ts";

export interface ApiAround {
  host: ServerHost;
  run: KeptRun;
  /** Aborted when the server stops. */
  stopping: AbortSignal;
  headers: Readonly<Record<string, string>>;
  onBug(error: unknown): void;
}

export interface Env {
  Bindings: HttpBindings;
  Variables: { mayChange: boolean; hasSession: boolean };
}

type C = HonoContext<Env>;

/** A task is at most 16 MiB; its JSON in a body has some more. */
const MOST_BODY = 17 * 2 ** 20;
const MOST_STREAMS = 64;

/** `/api/NAME`: the operations, as they are defined. */
export function operationRoutes(around: ApiAround): Hono<Env> {
  const routes = new Hono<Env>();
  const kept = new KeptAnswers();
  let streams = 0;
  const { host, run } = around;
  for (const exposed of host.operations) {
    const path = pathOf(exposed.name);
    routes.get(path, async (c) => {
      const command = await exposed.load();
      // Whatever the inputs: they are not asked for first.
      if (command.op.changes === undefined && changesSomething(command.op, {})) {
        throw changesAsGet(c, exposed);
      }
      const input = await inputFromQuery(command, new URL(c.req.url).searchParams);
      return answer(c, exposed, command, input, true);
    });
    routes.post(path, async (c) => {
      assertMayChange(c);
      const command = await exposed.load();
      return answer(c, exposed, command, await postedInput(c, command), false);
    });
  }
  for (const [name, reason] of Object.entries(host.hidden)) {
    routes.all(pathOf(name), () => {
      throw new HttpError(404, `viv ${name} is not offered over HTTP: ${reason}.`);
    });
  }

  async function answer(
    c: C,
    exposed: Exposed,
    command: Command,
    given: Values,
    isGet: boolean,
  ): Promise<Response> {
    const { op } = command;
    const input = await checkedInput(exposed.name, command, given, personIn(host.env));
    if (isGet && changesSomething(op, input)) throw changesAsGet(c, exposed);
    const flags = await flagsOf(command);
    const inWords = (error: unknown) => inHttpWords(error, flags, isGet || bodyType(c) === LINES);
    const refuse = (error: unknown): never => {
      throw inWords(error);
    };
    if (isGet && op.readsAll === true) return keptAnswer(c, op as Call, input).catch(refuse);
    const { incoming, outgoing } = c.env;
    const signal = AbortSignal.any([untilGone(outgoing), around.stopping]);
    const store = op.access === undefined ? null : await run.store();
    const answered = host.invoke(
      run.run,
      store,
      { signal, input: () => incoming },
      async (context) => {
        await op.check?.(context, input);
        if (!isStream(op)) return c.json((await op.run(context, input)) as Values);
        const form = formFor(c.req.header("accept"));
        // It would run, unheard, until the client hangs up.
        if (c.req.method === "HEAD")
          return c.body(null, 200, { "content-type": STREAM_TYPES[form] });
        if (streams >= MOST_STREAMS) {
          throw new HttpError(429, `${MOST_STREAMS} operations stream already; end one of them.`);
        }
        streams++;
        try {
          if (form === "lines" && bodyType(c) === LINES) {
            const output = await outputOf(op.stream(context, input));
            const type = { "content-type": STREAM_TYPES.lines };
            return c.body(`${JSON.stringify({ output })}\n`, 200, type);
          }
          const errorOf = (error: unknown) => errorAnswer(inWords(error), around.onBug);
          await sendStream(outgoing, form, around.headers, op.stream(context, input), errorOf);
          return RESPONSE_ALREADY_SENT;
        } finally {
          streams--;
        }
      },
    );
    const told = answered.catch(refuse);
    return changesSomething(op, input) ? told.finally(() => kept.forget()) : told;
  }

  /** Made for all who ask for it, so it does not end with one of them. */
  async function keptAnswer(c: C, op: Call, input: Values): Promise<Response> {
    const store = await run.store();
    const request = { signal: around.stopping, input: () => c.env.incoming };
    const { text, againIn } = await kept.of(c.req.url, () =>
      host.invoke(run.run, store, request, async (context) => {
        await op.check?.(context, input);
        return JSON.stringify(await op.run(context, input));
      }),
    );
    if (againIn !== null) c.header("x-viv-again-in", String(againIn));
    return c.body(text, 200, { "content-type": "application/json" });
  }

  return routes;
}

function changesAsGet(c: C, { name }: Exposed): HttpError {
  c.header("allow", "POST");
  return new HttpError(405, `viv ${name} changes something here; send it as POST, with the token.`);
}

export function pathOf(name: string): string {
  return `/${name.replaceAll(" ", "/")}`;
}

export function assertMayChange(c: C): void {
  if (c.get("mayChange")) return;
  throw c.get("hasSession")
    ? new HttpError(
        403,
        "a change with a cookie needs the Origin of this server, as its own page sends it.",
      )
    : new HttpError(
        401,
        "a change needs the token: send Authorization: Bearer with the text of viv token, or log in with: viv token --link",
      );
}

/** As the body, what the operation reads. */
const LINES = "application/x-ndjson";

function bodyType(c: C): string | undefined {
  return (c.req.header("content-type") ?? "").split(";")[0]?.trim().toLowerCase();
}

/** With JSON lines as the body, the inputs are in the query. */
async function postedInput(c: C, command: Command): Promise<Values> {
  const type = bodyType(c);
  if (type === LINES) {
    return inputFromQuery(command, new URL(c.req.url).searchParams);
  }
  // Left out, it would be another change: of the whole run, or no dry run.
  if (new URL(c.req.url).search !== "") {
    throw new HttpError(
      400,
      "the inputs of a POST are its JSON body; only with application/x-ndjson are they in the query.",
    );
  }
  const { incoming } = c.env;
  const body = await bodyOf(incoming, MOST_BODY);
  if (type !== "application/json" && body !== "") {
    throw new HttpError(
      415,
      "the body must be application/json, or application/x-ndjson for lines.",
    );
  }
  return inputFromBody(body);
}
