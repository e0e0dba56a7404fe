import { isIP } from "node:net";
import type { ConfigTable } from "../base/config-table.ts";
import type { Section } from "../base/section.ts";

/** `[server]` of viv.toml. Paths are as they are written. */
export interface ServerSettings {
  /** 0: any free one. */
  port: number;
  /** Nobody chose the port: if it is taken, the next free one will do. */
  isDefaultPort?: boolean;
  bind: string;
  /** Other interfaces than loopback without TLS: the token can be read on the network. */
  insecure: boolean;
  tls?: { cert: string; key: string };
  /** Further names in Host that are answered. */
  hosts: readonly string[];
  /** Pages of other origins that may read /_activity. */
  origins: readonly string[];
}

export const DEFAULT_PORT = 4747;
const HOST = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i;

export const serverSection = ((top): ServerSettings => {
  const table = top.section("server");
  const chosen = table.whole("port", 65_535, 0);
  const address = 'an address of this machine, like "127.0.0.1" or "0.0.0.0"';
  const bind = table.text("bind", address, (text) => isIP(text) !== 0) ?? "127.0.0.1";
  const insecure = table.flag("insecure") ?? false;
  const tls = readTls(table);
  const hosts = each(table, "hosts", 'a list of host names, like ["viv.example.org"]', (text) =>
    HOST.test(text),
  );
  const origins = each(table, "origins", 'a list of origins, like ["https://a.example"]', isOrigin);
  table.refuseOthers();
  if (!isLoopback(bind) && tls === undefined && !insecure) {
    const needs = "needs tls_cert and tls_key, or insecure = true";
    table.note(["bind"], `bind ${bind} is not only for this machine, and ${needs}`);
  }
  const port = chosen ?? DEFAULT_PORT;
  return { port, isDefaultPort: chosen === undefined, bind, insecure, tls, hosts, origins };
}) satisfies Section<unknown>;

function readTls(table: ConfigTable): ServerSettings["tls"] {
  const cert = table.text("tls_cert", "the path of a certificate in PEM");
  const key = table.text("tls_key", "the path of its key in PEM");
  if (cert !== undefined && key !== undefined) return { cert, key };
  for (const [one, other] of [["tls_cert", "tls_key"] as const, ["tls_key", "tls_cert"] as const]) {
    if (table.has(one) && !table.has(other)) table.note([one], `${one} needs ${other} beside it`);
  }
  return undefined;
}

function each(
  table: ConfigTable,
  key: string,
  what: string,
  isRight: (text: string) => boolean,
): string[] {
  return (table.texts(key, what) ?? []).filter((text, i) => {
    if (!isRight(text)) table.note([key, i], `${key} must be ${what}; "${text}" is none`);
    return isRight(text);
  });
}

/** As a browser sends it: without a path, in lower case. */
function isOrigin(text: string): boolean {
  return URL.canParse(text) && /^https?:/.test(text) && new URL(text).origin === text;
}

export function isLoopback(address: string): boolean {
  return address === "::1" || (isIP(address) === 4 && address.startsWith("127."));
}
