import { toJSONSchema } from "zod/mini";
import { GROUPS } from "../operation/catalog.ts";
import type { Command } from "../operation/command.ts";
import { inputSchema } from "../operation/input-schema.ts";
import { isStream, type Operation } from "../operation/operation.ts";
import { pathOf } from "./api.ts";
import type { Exposed, ServerHost } from "./server-host.ts";

/**
 * OpenAPI 3.1, whose schemas are JSON Schema: so zod's own `toJSONSchema` makes all of it from the
 * operations. (@hono/zod-openapi needs the methods of classic zod; ours are zod/mini, which is a tenth
 * of it and starts in milliseconds.)
 */
export async function openApi(host: Pick<ServerHost, "operations" | "version">): Promise<object> {
  const paths: Record<string, object> = { ...OWN_PATHS };
  const schemas: Schemas = { Error: ERROR };
  for (const exposed of host.operations) {
    paths[`/api${pathOf(exposed.name)}`] = pathItem(exposed, await exposed.load(), schemas);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Vivarium",
      version: host.version,
      description:
        "The operations of one run, as on the command line. GET answers what changes nothing; POST needs the token of `viv token`.",
    },
    servers: [{ url: "/" }],
    security: OPEN,
    tags: Object.values(GROUPS).map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
      schemas,
    },
  };
}

/** Whether there is an input with which it changes nothing. */
export function canRead({ access, changes }: Operation): boolean {
  return changes !== undefined || access === "read";
}

function pathItem({ name, summary, group }: Exposed, { op }: Command, schemas: Schemas): object {
  const id = name.replaceAll(" ", "_");
  const about = { summary, description: op.summary, tags: [GROUPS[group]] };
  const schema = embedded(inputSchema(op), `${id}_input`, schemas);
  const responses = {
    200: answerOf(op, id, schemas),
    default: { description: "an error", content: json(REF) },
  };
  const post = {
    ...{ ...about, operationId: `post_${id}`, security: [{ token: [] }], responses },
    requestBody: { content: json(schema) },
  };
  if (!canRead(op)) return { post };
  const { properties = {}, required = [] } = schema as {
    properties?: Record<string, { description?: string }>;
    required?: string[];
  };
  const parameters = Object.entries(properties).map(([key, one]) => ({
    ...{ name: key, in: "query", required: required.includes(key), schema: one },
    ...(one.description && { description: one.description }),
  }));
  return { get: { ...about, operationId: `get_${id}`, parameters, responses }, post };
}

function answerOf(op: Operation, id: string, schemas: Schemas): object {
  const schemaOf = (type: Operation["output"], part: string) => {
    const schema = toJSONSchema(type, { io: "output", unrepresentable: "any" });
    return embedded(schema, `${id}_${part}`, schemas);
  };
  const output = schemaOf(op.output, "output");
  if (!isStream(op)) return { description: "its answer", content: json(output) };
  const schema = {
    anyOf: [
      schemaOf(op.event, "event"),
      { type: "object", properties: { output }, required: ["output"] },
      REF,
    ],
  };
  return {
    description: "events as they happen, one per line; the last line has the output, or an error",
    content: { "application/x-ndjson": { schema }, "text/event-stream": { schema: TEXT } },
  };
}

function json(schema: object): object {
  return { "application/json": { schema } };
}

type Schemas = Record<string, object>;

/** As a part of the document: what it defines for itself (a tree) is named there, by its own name. */
function embedded(schema: object, name: string, schemas: Schemas): object {
  const text = JSON.stringify(schema).replaceAll('"#/$defs/', `"#/components/schemas/${name}_`);
  const {
    $schema: _,
    $defs = {},
    ...own
  } = JSON.parse(text) as { $schema?: string; $defs?: Schemas };
  for (const [key, one] of Object.entries($defs)) schemas[`${name}_${key}`] = one;
  return own;
}

/** Without the token on this machine; from another one, with it. */
const OPEN = [{}, { token: [] }];
const REF = { $ref: "#/components/schemas/Error" };
const TEXT = { type: "string" };
const ERROR = {
  type: "object",
  properties: {
    error: {
      type: "object",
      properties: { code: TEXT, message: TEXT },
      required: ["code", "message"],
    },
  },
  required: ["error"],
};

const get = (summary: string, type: string, schema: object = TEXT, parameters: object[] = []) => ({
  get: {
    ...{ summary, parameters },
    responses: {
      200: { description: summary, content: { [type]: { schema } } },
      default: { description: "an error", content: json(REF) },
    },
  },
});
const query = (name: string, description: string) => ({
  name,
  in: "query",
  description,
  schema: TEXT,
});

const OWN_PATHS = {
  "/api/session": get("the run, and whether this client may change it", "application/json", {
    type: "object",
  }),
  "/api/artifacts/{name}": get("the bytes of an artifact", "text/plain", TEXT, [
    { name: "name", in: "path", required: true, schema: TEXT },
  ]),
  "/events": get("server-sent events; Last-Event-ID resumes", "text/event-stream", TEXT, [
    query("room", "rooms, with commas"),
    query("event", "events of the ledger, with commas"),
    query("task", "ids of tasks, with commas"),
    query("agent", "workers and members, with commas"),
    query("type", "types of tasks, with commas"),
    query("from", "the id of an event: those after it come first"),
    query("as", "message: the ledger's lines only, as events without a name"),
  ]),
  "/_activity": get("the crew's activity", "application/json", { type: "object" }),
  "/metrics": get("for Prometheus", "text/plain"),
  "/healthz": get("the process serves", "application/json", { type: "object" }),
  "/readyz": get("the run can be read", "application/json", { type: "object" }),
};
