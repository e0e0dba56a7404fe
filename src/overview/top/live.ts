import { messageOf } from "../../base/errors.ts";
import { counted } from "../../base/text.ts";
import { personIn } from "../../operation/person.ts";
import { asWritten } from "../../operation/term.ts";
import { pause } from "../../platform/machine-retry.ts";
import type { RunContext } from "../../queue/operation.ts";
import { pauseOperation, resume } from "../../queue/operations/maintenance.ts";
import { cancel, retry } from "../../queue/operations/tasks.ts";
import { approve } from "../../work/operations/approve.ts";
import { detailsOf } from "./details.ts";
import type { Screen, TopHost } from "./host.ts";
import { keysIn } from "./keys.ts";
import {
  type Action,
  bodyHeight,
  type Effect,
  type Event,
  keysOf,
  newModel,
  selected,
  update,
} from "./model.ts";
import { changes, painted } from "./paint.ts";
import { TopReader } from "./read.ts";
import { frame } from "./render.ts";

const LOOK_MS = 1_000;
/** An escape that nothing follows is the key. */
const ESCAPE_MS = 50;

/** `viv top` on a terminal: reads, draws and acts until a person quits, or the signal comes. */
export async function live(context: RunContext, host: TopHost, screen: Screen): Promise<void> {
  const reader = new TopReader(context, host);
  const quit = new AbortController();
  const over = AbortSignal.any([context.signal, quit.signal]);
  let woken = new AbortController();
  let model = newModel(screen.size);
  let drawn: string[] = [];
  let isDrawing = false;

  const draw = () => {
    isDrawing = false;
    if (over.aborted) return;
    const lines = frame(model, context.now(), screen.color.isColorSupported);
    const next = lines.map((line) => asWritten(painted(line, screen)));
    const text = changes(drawn, next);
    drawn = next;
    if (text !== "") screen.write(text);
  };
  const redraw = () => {
    drawn = [];
    screen.write(CLEAR);
  };
  const dispatch = (event: Event) => {
    const [next, effects] = update(model, event);
    model = next;
    for (const effect of effects) perform(effect);
    if (!isDrawing) setImmediate(draw);
    isDrawing = true;
  };
  const perform = (effect: Effect) => {
    if (effect.kind === "quit") quit.abort();
    else if (effect.kind === "suspend") screen.suspend();
    else if (effect.kind === "redraw") redraw();
    else if (effect.kind === "read") woken.abort();
    else if (effect.kind === "act") void act(effect.action);
  };
  const act = async (action: Action) => {
    try {
      dispatch({ kind: "notice", text: await done(context, action), isError: false });
    } catch (error) {
      dispatch({ kind: "notice", text: messageOf(error), isError: true });
    }
    reader.expire();
    woken.abort();
  };

  let rest = "";
  let pending: NodeJS.Timeout | undefined;
  const press = (text: string, isAll = false) => {
    clearTimeout(pending);
    const found = keysIn(rest + text, isAll);
    rest = found.rest;
    if (rest !== "") pending = setTimeout(() => press("", true), ESCAPE_MS);
    for (const key of found.keys) dispatch({ kind: "key", key });
  };
  screen.open({
    input: press,
    resize: () => dispatch({ kind: "size", size: screen.size }),
    resume: () => dispatch({ kind: "size", size: screen.size }),
  });
  try {
    while (!over.aborted) {
      woken = new AbortController(); // before the look: a key meanwhile cuts the pause short
      const { tab, isTree, overlay, cursor } = model;
      const isFirst = model.snapshot === null;
      const visible = keysOf(model).slice(cursor.top, cursor.top + bodyHeight(model));
      try {
        dispatch({
          kind: "snapshot",
          snapshot: await reader.read({ tab, isTree, visible, isFirst }),
        });
        const id = overlay === "details" ? selected(model) : null;
        if (id !== null) dispatch({ kind: "details", details: await detailsOf(context, id) });
      } catch (error) {
        dispatch({
          kind: "notice",
          text: `cannot read the run: ${messageOf(error)}`,
          isError: true,
        });
      }
      if (!isFirst) await pause(LOOK_MS, AbortSignal.any([over, woken.signal]));
      else await drawnOnce();
    }
  } finally {
    clearTimeout(pending);
    screen.close();
  }
}

/** The next round of the event loop: `draw` comes before it. */
function drawnOnce(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

const CLEAR = "\u001b[2J";

/** Does it; what was done, in words. */
async function done(context: RunContext, { verb, ids }: Action): Promise<string> {
  const by = personIn(context.here.env);
  const decision = { ids: [...ids], by };
  const names = ids.length > 3 ? counted(ids.length, "task") : ids.join(", ");
  switch (verb) {
    case "cancel":
      await cancel.run(context, decision);
      return `cancelled ${names}`;
    case "retry":
      await retry.run(context, decision);
      return `${names} will be tried again`;
    case "approve":
      await approve.run(context, decision);
      return `approved ${names}`;
    case "pause":
      await pauseOperation.run(context, { by });
      return "paused: nothing more is claimed";
    case "resume":
      await resume.run(context, { by });
      return "the run goes on";
  }
}
