import { errno } from "../base/errno.ts";
import { messageOf } from "../base/errors.ts";

/**
 * One POST, over a connection of its own. No redirect is followed, and nothing is sent twice: what
 * became of the request is known as exactly as it can be.
 */
export interface PostRequest {
  headers: Readonly<Record<string, string>>;
  body: string;
  timeoutMs: number;
}

export type PostEnd =
  | { kind: "answered"; status: number; retryAfter: string | null; body: string }
  /** There was no connection: the other side has seen nothing of it. */
  | { kind: "unsent"; why: string }
  /** It was sent, or a part of it, and no answer came. */
  | { kind: "unanswered"; why: string };

const MAX_BODY = 16 * 1024;

/** Never rejects. The messages have no part of the address but its host. */
export async function post(url: URL, request: PostRequest): Promise<PostEnd> {
  const { headers, body, timeoutMs } = request;
  const isTls = url.protocol === "https:";
  const { request: open } = isTls ? await import("node:https") : await import("node:http");
  return new Promise((resolve) => {
    let isConnected = false;
    const seconds = timeoutMs / 1000;
    const fail = (why: string) => {
      clearTimeout(timer);
      resolve({ kind: isConnected ? "unanswered" : "unsent", why });
    };
    // A user and a secret in the address become a header.
    const outgoing = open(url, {
      method: "POST",
      agent: false,
      headers: { ...headers, "content-length": String(Buffer.byteLength(body)) },
    });
    const timer = setTimeout(() => {
      fail(isConnected ? `no answer within ${seconds} s` : `no connection within ${seconds} s`);
      outgoing.destroy();
    }, timeoutMs);
    outgoing.on("socket", (socket) => {
      socket.once(isTls ? "secureConnect" : "connect", () => {
        isConnected = true;
      });
    });
    outgoing.on("error", (error) => fail(reasonOf(error)));
    outgoing.on("response", (response) => {
      const { statusCode: status = 0 } = response;
      const retryAfter = response.headers["retry-after"] ?? null;
      let text = "";
      const end = () => {
        clearTimeout(timer);
        resolve({ kind: "answered", status, retryAfter, body: text });
      };
      // The status is the answer, also when the rest of it is cut off.
      response.setEncoding("utf8").on("data", (chunk: string) => {
        text = (text + chunk).slice(0, MAX_BODY);
        if (text.length === MAX_BODY) response.destroy();
      });
      for (const event of ["end", "close", "error"]) response.on(event, end);
    });
    outgoing.end(body);
  });
}

/** Several addresses of one host fail together, with a message that is empty. */
function reasonOf(error: Error): string {
  const first = error instanceof AggregateError ? error.errors[0] : error;
  return messageOf(first) || errno(error) || "the connection failed";
}
