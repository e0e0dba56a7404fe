import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { askOnTerminal } from "./ask.ts";

function terminalWith(text: string) {
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  if (text !== "") stdin.write(text);
  const said: string[] = [];
  const stderr = { isTTY: true, write: (more: string) => said.push(more) };
  return { stdin, stderr, said: () => said.join("") };
}

test("gives the first line", async () => {
  const terminal = terminalWith("yes\r\nmore\n");
  expect(await askOnTerminal(terminal, "sure? ", new AbortController().signal)).toBe("yes");
  expect(terminal.said()).toBe("sure? ");
});

test("Ctrl-C is an empty answer at once, whatever was typed before it", async () => {
  const stop = new AbortController();
  const terminal = terminalWith("yes");
  const answer = askOnTerminal(terminal, "sure? ", stop.signal);
  stop.abort();
  expect(await answer).toBe("");
  expect(terminal.said()).toBe("sure? \n");
  expect(await askOnTerminal(terminalWith(""), "sure? ", stop.signal)).toBe("");
});

test("Ctrl-D is an empty answer", async () => {
  const terminal = terminalWith("");
  terminal.stdin.end();
  expect(await askOnTerminal(terminal, "sure? ", new AbortController().signal)).toBe("");
});

test("nobody is asked without a terminal", async () => {
  const terminal = terminalWith("yes\n");
  terminal.stdin.isTTY = false;
  expect(await askOnTerminal(terminal, "sure? ", new AbortController().signal)).toBeNull();
});
