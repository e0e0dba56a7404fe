import { EventEmitter } from "node:events";
import { expect, it, onTestFinished, vi } from "vitest";
import { LIMITS } from "./limits.ts";
import { type WebAround, webApp } from "./web-app.ts";

/** An app whose gatekeeper takes its time, and counts. */
function slowlyAdmitting() {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const seen: unknown[] = [];
  let letIn = (_: object) => {};
  const isIn = new Promise<object>((done) => {
    letIn = done;
  });
  const gatekeeper = {
    admit: (request: unknown) => {
      seen.push(request);
      return isIn;
    },
  };
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const around = {
    gatekeeper,
    limits: LIMITS,
    stopping: stop.signal,
    host: { operations: [], hidden: {} },
  };
  const app = webApp(around as never as WebAround);
  return {
    ask() {
      const outgoing = Object.assign(new EventEmitter(), { destroyed: false });
      const env = { incoming: { method: "GET", complete: true }, outgoing };
      const answer = app.fetch(new Request("http://localhost/healthz"), env);
      return { outgoing, answer };
    },
    letIn: () => letIn({ mayChange: false, hasSession: false, headers: {} }),
    /** How many are looked at again. */
    again() {
      seen.length = 0;
      vi.advanceTimersByTime(LIMITS.admitAgainMs);
      return seen.length;
    },
  };
}

it("keeps no request whose client went while it was let in", async () => {
  const { ask, letIn, again } = slowlyAdmitting();
  const [gone, stays] = [ask(), ask()];
  gone.outgoing.destroyed = true;
  gone.outgoing.emit("close");
  letIn();
  await Promise.all([gone.answer, stays.answer]);
  expect(again()).toBe(1);
  stays.outgoing.emit("close");
  expect(again()).toBe(0);
});
