/** The fields of both protocols that are checked. */
export interface Body {
  model: string;
  messages: Message[];
  stream?: boolean;
  max_tokens?: number;
  system?: unknown;
  tools?: { name?: string; function?: { name: string } }[];
}

export interface Message {
  role: string;
  content?: string | Part[] | null;
  tool_calls?: { id: string; function: { arguments: string } }[];
  tool_call_id?: string;
}

export interface Part {
  type: string;
  text?: string;
  id?: string;
  input?: unknown;
  tool_use_id?: string;
  content?: string | Part[];
}

export const partsOf = ({ content }: Message): Part[] => (Array.isArray(content) ? content : []);

/** The reason of a 400 of the real API, in one line; or null. */
export function checkAnthropic(body: Body): string | null {
  if (!((body.max_tokens ?? 0) > 0)) return "max_tokens: field required";
  if (body.stream !== true) return "this server only streams";
  if (body.messages[0]?.role !== "user") return "messages: first message must use the user role";
  for (const [i, message] of body.messages.entries()) {
    const next = body.messages[i + 1];
    if (message.role === next?.role) return `messages.${i + 1}: roles must alternate`;
    for (const part of partsOf(message)) {
      if (part.type === "text" && part.text?.trim() === "") return `messages.${i}: empty text`;
      if (part.type === "tool_result" && !has(body.messages[i - 1], "tool_use", part.tool_use_id)) {
        return `messages.${i}: unexpected tool_use_id`;
      }
      if (part.type !== "tool_use") continue;
      if (typeof part.input !== "object") return `messages.${i}: input should be an object`;
      if (!has(next, "tool_result", part.id)) return `messages.${i}: tool_use without tool_result`;
    }
  }
  return null;
}

function has(message: Message | undefined, type: string, id: string | undefined): boolean {
  const parts = message ? partsOf(message) : [];
  return parts.some((part) => part.type === type && (part.tool_use_id ?? part.id) === id);
}

export function checkOpenai(body: Body): string | null {
  if (body.stream !== true) return "this server only streams";
  const open = new Set<string>();
  for (const [i, message] of body.messages.entries()) {
    if (message.role === "tool") {
      if (!open.delete(message.tool_call_id ?? "")) return `messages.${i}: no such tool_call_id`;
      continue;
    }
    if (open.size > 0) return `messages.${i}: tool_calls must be followed by tool messages`;
    for (const call of message.tool_calls ?? []) {
      open.add(call.id);
      try {
        JSON.parse(call.function.arguments);
      } catch {
        return `messages.${i}: arguments are not JSON`;
      }
    }
  }
  return open.size > 0 ? "tool_calls must be followed by tool messages" : null;
}
