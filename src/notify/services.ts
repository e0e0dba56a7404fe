import { createHmac } from "node:crypto";
import { cut } from "../base/text.ts";
import type { Way } from "./config.ts";
import { linesOf, type Said } from "./message.ts";

/** What each service is sent: pure, with the values of secrets handed in. */
export interface Request {
  url: string;
  headers: Record<string, string>;
  body: string;
}

/** A message of Slack is cut by it at 40,000; beyond 4,000 it is no notice any more. */
const SLACK_MOST = 3_900;
/** Telegram refuses more than 4,096 UTF-16 units, ntfy makes a file of more than 4,096 bytes. */
const TELEGRAM_MOST = 4_000;
const NTFY_MOST_BYTES = 3_900;
const DESKTOP_MOST = 400;

/** As a program gets it, and a webhook. */
export function payloadOf(said: Said): unknown {
  if (said.whole !== undefined) return said.whole;
  const { id, event, place, title, total, counts, items } = said;
  const events = items.map(({ fact: _, ...one }) => one);
  return { id, event, run: place, title, text: textOf(said), total, counts, events };
}

export function textOf(said: Said): string {
  return linesOf(said).join("\n");
}

const JSON_TYPE = { "content-type": "application/json" };

/**
 * The names and the form are those of Standard Webhooks: `v1,` and the HMAC-SHA256 of
 * `id.timestamp.body`, in base64. The receiver refuses an old timestamp, and an id that it has seen.
 */
export function webhookRequest(
  said: Said,
  { url, secret, now }: { url: string; secret: string | undefined; now: number },
): Request {
  const body = JSON.stringify(payloadOf(said));
  if (secret === undefined) return { url, headers: JSON_TYPE, body };
  const timestamp = String(Math.floor(now / 1000));
  const signature = createHmac("sha256", keyOf(secret))
    .update(`${said.id}.${timestamp}.${body}`)
    .digest("base64");
  const headers = {
    ...JSON_TYPE,
    "webhook-id": said.id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${signature}`,
  };
  return { url, headers, body };
}

/** `whsec_` and base64, as receivers' libraries write a key; else the text itself. */
function keyOf(secret: string): Buffer {
  return secret.startsWith("whsec_")
    ? Buffer.from(secret.slice("whsec_".length), "base64")
    : Buffer.from(secret, "utf8");
}

/** The three characters that Slack reads: so no text can mention a channel, or be a link. */
const forSlack = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

export function slackRequest(said: Said, url: string): Request {
  const text = forSlack(cut(`${said.title}\n${textOf(said)}`, SLACK_MOST));
  const quiet = { mrkdwn: false, unfurl_links: false, unfurl_media: false };
  return { url, headers: JSON_TYPE, body: JSON.stringify({ text, ...quiet }) };
}

export function telegramRequest(
  said: Said,
  { token, chat, server }: { token: string; chat: string; server: string },
): Request {
  // Without a parse_mode: then nothing in it is read as markup.
  const text = cut(`${said.title}\n${textOf(said)}`, TELEGRAM_MOST);
  const options = { link_preview_options: { is_disabled: true } };
  const body = JSON.stringify({ chat_id: chat, text, ...options });
  const url = `${server.replace(/\/+$/, "")}/bot${token}/sendMessage`;
  return { url, headers: JSON_TYPE, body };
}

export function ntfyRequest(
  said: Said,
  { topic, server, token }: { topic: string; server: string; token: string | undefined },
): Request {
  const authorization: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {};
  const message = cutBytes(textOf(said), NTFY_MOST_BYTES);
  const body = JSON.stringify({ topic, title: said.title, message });
  return { url: server, headers: { ...JSON_TYPE, ...authorization }, body };
}

function cutBytes(text: string, most: number): string {
  let end = text.length;
  while (Buffer.byteLength(text.slice(0, end)) > most) end = Math.floor(end * 0.9);
  return end === text.length ? text : cut(text, end);
}

/** The program that shows it on this desktop. */
export function desktopCommand(said: Said, platform: string): string[] {
  const text = cut(textOf(said), DESKTOP_MOST);
  if (platform === "darwin") {
    const script =
      "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run";
    return ["osascript", "-e", script, said.title, text];
  }
  // The body is read as markup there.
  return ["notify-send", "--app-name=viv", "--", said.title, forSlack(text)];
}

/** For a program: VIV_EVENT and its like. */
export function eventEnv(said: Said): Record<string, string> {
  const { id, event, place, title, total, items } = said;
  const [{ at = "", subject = "", type = "" } = {}] = items;
  return {
    VIV_EVENT: event,
    VIV_EVENT_ID: id,
    VIV_EVENT_RUN: place,
    VIV_EVENT_AT: at,
    VIV_EVENT_TITLE: title,
    VIV_EVENT_TEXT: textOf(said),
    VIV_EVENT_COUNT: String(total),
    VIV_EVENT_SUBJECT: total === 1 ? subject : "",
    VIV_EVENT_TYPE: total === 1 ? type : "",
  };
}

export type HttpWay = Extract<Way, { kind: "webhook" | "slack" | "telegram" | "ntfy" }>;
