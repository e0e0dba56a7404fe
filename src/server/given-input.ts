import { VivError } from "../base/errors.ts";
import { complaint, type Issue, isMissing } from "../base/issue.ts";
import { isRecord } from "../base/json.ts";
import { parseUserJson } from "../base/user-json.ts";
import type { Command, Values } from "../operation/command.ts";
import { type Flag, flagsOf } from "../operation/flags.ts";
import { changesSomething } from "../operation/operation.ts";

/** Inputs of an operation from a query: as on the command line, with the keys of the input. */
export async function inputFromQuery(command: Command, query: URLSearchParams): Promise<Values> {
  const flags = new Map((await flagsOf(command)).map((flag) => [flag.key, flag]));
  const values: Values = {};
  for (const key of new Set(query.keys())) {
    const flag = flags.get(key);
    if (flag === undefined) throw unknownKey(key, flags.keys());
    values[key] = valueFrom(flag, query.getAll(key));
  }
  return values;
}

function valueFrom({ key, kind }: Flag, texts: readonly string[]): unknown {
  if (kind === "list") return texts.flatMap((text) => text.split(",")).filter((one) => one !== "");
  if (texts.length > 1) throw new VivError("USAGE", `${key} is given more than once.`);
  const [text = ""] = texts;
  if (kind === "boolean") {
    if (["", "1", "true"].includes(text)) return true;
    if (["0", "false"].includes(text)) return false;
    throw new VivError("USAGE", `${key} must be true or false.`);
  }
  if (kind === "number") {
    const value = text.trim() === "" ? Number.NaN : Number(text);
    if (Number.isNaN(value)) throw new VivError("USAGE", `${key} must be a number.`);
    return value;
  }
  return kind === "json" ? parseUserJson(text, key) : text;
}

/** A JSON body. None is `{}`. */
export function inputFromBody(text: string): Values {
  if (text.trim() === "") return {};
  const value = parseUserJson(text, "the body");
  if (!isRecord(value))
    throw new VivError("INVALID", 'the body must be a JSON object, like {"id": "t.1"}.');
  return value;
}

/** Checked by the operation's schema. Of a change, `by` is the server's user, unless it is given. */
export async function checkedInput(
  name: string,
  command: Command,
  given: Values,
  user: string | undefined,
): Promise<Values> {
  const { op } = command;
  const flags = await flagsOf(command);
  const parsed = op.input.safeParse(given);
  if (!parsed.success) throw refused(name, parsed.error.issues as Issue[], given, flags);
  // JSON that was given goes on as it was: the schema's copy would leave out a key __proto__.
  const whole = flags.filter(({ kind, key }) => kind === "json" && key in given);
  const input = {
    ...parsed.data,
    ...Object.fromEntries(whole.map(({ key }) => [key, given[key]])),
  };
  const isBy =
    user !== undefined && given.by === undefined && flags.some(({ key }) => key === "by");
  return isBy && changesSomething(op, input) ? { ...input, by: user } : input;
}

/** A key that is not known first: what seems to be missing may be meant by it. */
function refused(
  name: string,
  issues: readonly Issue[],
  input: Values,
  flags: readonly Flag[],
): VivError {
  const unknown = issues.find(({ code }) => code === "unrecognized_keys")?.keys?.[0];
  if (unknown !== undefined) {
    return unknownKey(
      unknown,
      flags.map(({ key }) => key),
    );
  }
  const issue = issues[0] as Issue;
  const key = issue.path.map(String).join(".");
  if (!isMissing(issue, input)) return new VivError("USAGE", `${key} ${complaint(issue)}.`);
  return new VivError("USAGE", `${name} needs ${key}; see /docs.`);
}

function unknownKey(key: string, known: Iterable<string>): VivError {
  const all = [...known].join(", ") || "none";
  return new VivError("USAGE", `there is no input ${JSON.stringify(key)}; there are: ${all}.`);
}
