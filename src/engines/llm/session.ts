import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type ModelMessage, modelMessageSchema } from "ai";
import { z } from "zod";
import { replaceFileUnsynced } from "../../platform/files/atomic-write.ts";
import { Ended } from "./ended.ts";

/** A conversation as it is kept: one file, replaced whole after each step. */
const kept = z.object({
  version: z.literal(1),
  model: z.string(),
  messages: z.array(modelMessageSchema).min(1),
});

const ID = /^[A-Za-z0-9-]{8,64}$/;

export const newSessionId = () => randomUUID();

export function saveSession(
  folder: string,
  id: string,
  model: string,
  messages: readonly ModelMessage[],
): void {
  mkdirSync(folder, { recursive: true });
  const path = pathOf(folder, id);
  const temporary = `${path}.new`; // one process has the session
  replaceFileUnsynced(path, JSON.stringify({ version: 1, model, messages }), { temporary });
}

/** Throws Ended when there is no such session that could be gone on with. */
export function loadSession(folder: string | null, id: string, model: string): ModelMessage[] {
  if (folder === null || !ID.test(id)) throw lost(id, "it was not kept");
  let text: string;
  try {
    text = readFileSync(pathOf(folder, id), "utf8");
  } catch (error) {
    throw lost(id, (error as Error).message);
  }
  try {
    const session = kept.parse(JSON.parse(text));
    return session.model === model ? session.messages : session.messages.map(withoutThoughts);
  } catch {
    throw lost(id, "its file cannot be read as one"); // half of it would mislead the model
  }
}

/** Thoughts are signed by the model that had them; another one refuses them. */
function withoutThoughts(message: ModelMessage): ModelMessage {
  if (message.role !== "assistant" || typeof message.content === "string") return message;
  return { ...message, content: message.content.filter((part) => part.type !== "reasoning") };
}

const pathOf = (folder: string, id: string) => join(folder, `${id}.json`);

function lost(id: string, why: string): Ended {
  const message = `the session ${JSON.stringify(id)} is not there any more: ${why}`;
  return new Ended({ kind: "session_lost", message });
}
