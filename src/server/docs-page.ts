import { escapeHtml as html } from "../base/text.ts";
import { GROUPS, type Group } from "../operation/catalog.ts";
import type { Command } from "../operation/command.ts";
import { type Flag, flagsOf } from "../operation/flags.ts";
import { isStream } from "../operation/operation.ts";
import { pathOf } from "./api.ts";
import { canRead } from "./openapi.ts";
import { plainPage } from "./plain-page.ts";
import type { Exposed, ServerHost } from "./server-host.ts";

/** Not `--json`: curl has it since 7.82, and Ubuntu 22.04 an older one. */
const CHANGE = `-H "Authorization: Bearer $(viv token)" -H "Content-Type: application/json"`;

/** The API for people: the operations by group, each with its inputs and a command to paste. */
export async function docsPage(
  host: Pick<ServerHost, "operations" | "version">,
  address: string,
): Promise<string> {
  const parts: string[] = [];
  for (const [group, title] of Object.entries(GROUPS) as [Group, string][]) {
    const members = host.operations.filter((one) => one.group === group);
    parts.push(`<h2 id="${group}">${html(title)}</h2>`);
    for (const one of members) parts.push(await section(one, await one.load(), address));
  }
  const groups = Object.entries(GROUPS).map(([key, title]) => `<a href="#${key}">${title}</a>`);
  const intro = `<p>The operations of this run, as on the command line. ${groups.join(" · ")} · <a href="/openapi.json">openapi.json</a></p>
<p><code>GET</code> answers what changes nothing, with the inputs in the query. <code>POST</code> takes them as a JSON object, and needs the token.</p>
<pre>${html(`curl ${address}/api/status
curl ${CHANGE} -d '{"type": "fix", "id": "t.1"}' ${address}/api/enqueue
curl ${address}/api/artifacts/t.1.md
curl -N ${address}/events`)}</pre>`;
  return plainPage(`Vivarium ${host.version}: HTTP API`, `${intro}\n${parts.join("\n")}`);
}

async function section(
  { name, summary }: Exposed,
  command: Command,
  address: string,
): Promise<string> {
  const { op } = command;
  const flags = (await flagsOf(command)).filter(({ key }) => key in op.input.def.shape);
  const path = `/api${pathOf(name)}`;
  const methods = canRead(op) ? "GET, POST" : "POST";
  const form = isStream(op) ? " · a stream of JSON lines, or of server-sent events" : "";
  const rows = flags.map(
    (flag) =>
      `<tr><td><code>${html(flag.key)}</code></td><td>${html(kindOf(flag))}${flag.required ? ", needed" : ""}</td><td>${html(flag.describe)}</td></tr>`,
  );
  const table =
    rows.length === 0
      ? ""
      : `<table><thead><tr><th scope="col">input</th><th scope="col">kind</th><th scope="col">meaning</th></tr></thead><tbody>${rows.join("")}</tbody></table>`;
  return `<h3 id="${html(name.replaceAll(" ", "-"))}">${html(path)}</h3>
<p>${html(summary)} <small>(${methods}${form})</small></p>
<pre>${html(exampleOf(path, canRead(op), flags, address))}</pre>
${table}`;
}

function kindOf({ kind, choices }: Flag): string {
  if (choices) return choices.join(" | ");
  return {
    string: "text",
    boolean: "true or false",
    number: "number",
    list: "list of texts",
    json: "object",
  }[kind];
}

function exampleOf(path: string, isRead: boolean, flags: readonly Flag[], address: string): string {
  const needed = flags.filter(({ required }) => required);
  if (isRead) {
    const query = needed.map(({ key, choices }) => `${key}=${choices?.[0] ?? key.toUpperCase()}`);
    const end = query.length > 0 ? `?${query.join("&")}` : "";
    return `curl '${address}${path}${end}'`;
  }
  const body = JSON.stringify(Object.fromEntries(needed.map((flag) => [flag.key, sampleOf(flag)])));
  return `curl ${CHANGE} -d '${body}' ${address}${path}`;
}

function sampleOf({ key, kind, choices }: Flag): unknown {
  if (kind === "list") return [key.toUpperCase().replace(/S$/, "")];
  return choices?.[0] ?? { string: key.toUpperCase(), boolean: true, number: 1, json: {} }[kind];
}
