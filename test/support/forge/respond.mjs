// Stands in for `gh` and `glab`: what they would print for `api …`. Only the flags that the real programs
// have are taken. `days.json` holds what goes wrong next: each item counts down on the requests that
// its pattern matches.

import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { github, gitlab, readState, writeState } from "./answers.mjs";

const said = (status, stderr, stdout = "") => ({ status, stdout, stderr: stderr && `${stderr}\n` });

/** `die`: ends the caller, or throws. */
export async function respond(program, folder, [verb, ...args], stdin, die) {
  if (verb !== "api") return said(1, `unknown command "${verb}" for "${program}"`);
  const flags = {};
  const rest = [];
  for (const arg of args) {
    const [, name, value] = /^--([a-z-]+)(?:=(.*))?$/s.exec(arg) ?? [];
    if (name === undefined) rest.push(arg);
    else if (["method", "hostname", "header", "input"].includes(name) && value) flags[name] = value;
    else if (name === "include" && value === undefined) flags[name] = true;
    else return said(1, `unknown flag: --${name}`);
  }
  if (rest.length !== 1) return said(1, `accepts 1 arg(s), received ${rest.length}`);
  const [path] = rest;
  const method = flags.method ?? (flags.input ? "POST" : "GET");
  const body = flags.input ? JSON.parse(stdin) : undefined;
  appendFileSync(join(folder, "calls.log"), `${JSON.stringify([program, method, path])}\n`);
  const { kind, until } = dayFor(folder, `${program} ${method} ${path}`);
  if (kind === "offline") {
    return said(1, "error connecting to api.github.com\ncheck your internet connection");
  }
  if (kind === "login") {
    return program === "gh"
      ? said(4, "To get started with GitHub CLI, please run:  gh auth login")
      : said(1, "glab: 401 Unauthorized. Please run `glab auth login`.");
  }
  if (kind === "old") return said(1, "unknown flag: --include");
  if (kind === "garbage") {
    return said(0, "", "HTTP/2.0 200 OK\r\nContent-Type: text/html\r\n\r\n<html>a proxy</html>");
  }
  if (kind === "slow") await new Promise((resolve) => setTimeout(resolve, 60_000));
  if (kind === "kill-before") die();
  const state = readState(folder);
  const answer =
    bad(kind, until) ?? (program === "gh" ? github : gitlab)(state, method, path, body);
  if (method !== "GET") writeState(folder, state);
  if (kind === "kill-after") die();
  if (kind === "lost") return said(1, "error connecting to api.github.com: unexpected EOF");
  const headers = { "Content-Type": "application/json", ...answer.headers };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const stdout = `HTTP/2.0 ${answer.status} Status\n${lines.join("")}\r\n${answer.body}`;
  if (answer.status < 300) return said(0, "", stdout);
  return said(1, `${program}: refused (HTTP ${answer.status})`, stdout);
}

function dayFor(folder, request) {
  let days;
  try {
    days = JSON.parse(readFileSync(join(folder, "days.json"), "utf8"));
  } catch {
    return {};
  }
  const day = days.find(({ on, times }) => times > 0 && new RegExp(on).test(request));
  if (!day) return {};
  const isLater = day.skip > 0;
  if (isLater) day.skip--;
  else day.times--;
  writeFileSync(join(folder, "days.json"), JSON.stringify(days));
  return isLater ? {} : day;
}

function bad(kind, until) {
  if (kind === "error") return { status: 502, body: "<html>", headers: {} };
  if (kind === "unauthorized") return { status: 401, body: '{"message":"Bad credentials"}' };
  if (kind === "locked") {
    return { status: 403, body: '{"message":"Unable to create comment because issue is locked."}' };
  }
  if (kind !== "limited") return null;
  const headers = { "X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": String(until) };
  return { status: 403, body: '{"message":"API rate limit exceeded"}', headers };
}
