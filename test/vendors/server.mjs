// A model server for tests with the vendors' real programs: no model, no key, no network. It speaks
// Anthropic's messages, OpenAI's responses and chat completions, and Google's generateContent.
//
//   http://127.0.0.1:PORT/MODE/…the vendor's own path        modes: see server/modes.mjs
//
// As a module: const server = await start({ log, bodies }); server.url("loop+out=20000");
// server.requests("loop+out=20000"); await server.stop(). As a program it prints "listening PORT":
//
//   node test/vendors/server.mjs [PORT] [LOG.jsonl]
//
// Each request is kept as one record (and one line of the log): what was asked, what was answered,
// and the usage that was told.

import { appendFileSync } from "node:fs";
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";
import { anthropic } from "./server/anthropic.mjs";
import { gemini } from "./server/gemini.mjs";
import { decide, parseMode, usageOf } from "./server/modes.mjs";
import { chat, responses } from "./server/openai.mjs";
import { deliver } from "./server/wire.mjs";

const PROTOCOLS = [anthropic, responses, chat, gemini];

/** `log`: a file for the records. `bodies`: the records have the whole requests. */
export async function start({ port = 0, log = null, bodies = false } = {}) {
  const records = [];
  const counts = new Map();
  const replaced = new Map();
  const server = createServer((request, response) => {
    answer(request, response).catch((error) => {
      // A test's own mistake (an unknown mode): the program shows it as the vendor's refusal.
      keep({ path: request.url, error: error.message });
      response.writeHead(400, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message: error.message } }));
    });
  });

  function keep(record) {
    const whole = { n: records.length + 1, at: new Date().toISOString(), ...record };
    records.push(whole);
    if (log !== null) appendFileSync(log, `${JSON.stringify(whole)}\n`);
    return whole;
  }

  async function answer(request, response) {
    const { pathname } = new URL(request.url, "http://test");
    const [, segment = "", ...rest] = pathname.split("/");
    const path = `/${rest.join("/")}`;
    const text = await bodyOf(request);
    const protocol =
      request.method === "POST" ? PROTOCOLS.find((one) => one.fits(path)) : undefined;
    const base = { mode: segment, method: request.method, path };
    if (protocol === undefined) {
      keep({ ...base, protocol: null });
      return json(response, 200, besides(path));
    }
    const mode = parseMode(replaced.get(segment) ?? segment);
    const body = JSON.parse(text);
    const heard = protocol.hear(body, path);
    const count = counts.get(segment) ?? { refused: 0 };
    counts.set(segment, count);
    const next = decide(mode, heard, count);
    const isBad = next.refuse !== undefined || next.hang || next.trouble !== undefined;
    if (isBad) count.refused++;
    const used = next.refuse === undefined && !next.hang && !next.trouble ? usageOf(mode) : null;
    const { model, tools, prompt, fresh, results } = heard;
    keep({
      ...base,
      protocol: protocol.name,
      model,
      tools,
      prompt,
      fresh,
      results,
      next,
      used,
      ...(bodies ? { body } : {}),
    });
    if (mode.slow) await new Promise((resolve) => setTimeout(resolve, Number(mode.slow) * 1000));
    if (next.hang) return; // until the client gives up
    if (next.refuse !== undefined) {
      const refusal = protocol.refuse(next.refuse, mode);
      return json(response, refusal.status, refusal.body, refusal.headers);
    }
    const id = `test${records.length}`;
    const speaker = mode.as ? { ...heard, model: mode.as } : heard;
    await deliver(response, protocol.say(next, speaker, usageOf(mode), id), next.trouble);
  }

  await new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  const address = `http://127.0.0.1:${server.address().port}`;
  return {
    port: server.address().port,
    /** The mode is checked here, so that a wrong word fails in the test. */
    url(mode = "ok") {
      parseMode(mode);
      return `${address}/${mode}`;
    },
    /** From now on the model at this address does what another mode says. */
    become(address, mode) {
      parseMode(mode);
      replaced.set(address, mode);
    },
    /** All requests so far, or those of one mode. */
    requests: (mode) => records.filter((one) => mode === undefined || one.mode === mode),
    /** Those with tools: not a title, a summary or a choice of model that the program asks beside. */
    work: (mode) => records.filter((one) => one.mode === mode && one.tools?.length > 0),
    /** The tokens of all whole answers in its work(). */
    told(mode) {
      const sum = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, thought: 0 };
      for (const { used } of this.work(mode).filter((one) => one.used))
        for (const kind of Object.keys(sum)) sum[kind] += used[kind];
      return sum;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve)); // a second stop() resolves, too
    },
  };
}

async function bodyOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

/** What programs ask for besides answers: lists of models, counts of tokens. */
function besides(path) {
  if (path.endsWith("/models"))
    return { object: "list", data: [{ id: "test-model", object: "model" }], models: [] };
  if (/count_?tokens/i.test(path)) return { input_tokens: 1000, totalTokens: 1000 };
  return {};
}

function json(response, status, value, headers = {}) {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(value));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [port = "0", log = null] = process.argv.slice(2);
  const server = await start({ port: Number(port), log, bodies: process.env.BODIES === "1" });
  console.log(`listening ${server.port}`);
}
