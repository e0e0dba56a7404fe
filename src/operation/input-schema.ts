import { toJSONSchema } from "zod/mini";
import type { Operation } from "./operation.ts";

/** An operation's input as JSON Schema: the one source of flags, OpenAPI and MCP. */
export function inputSchema({ input }: Operation) {
  return toJSONSchema(input, { io: "input" });
}
