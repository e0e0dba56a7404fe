import { expect, test } from "vitest";
import { type ForegroundProgram, isNamed, mayType } from "./may-type.ts";

const program = (line: string, hasTerminal = true): ForegroundProgram => {
  const argv = line.split(" ");
  const comm = (argv[0] ?? "").replace(/^.*\//, "").replace(/^-/, "");
  return { argv, comm, hasTerminal };
};

test.each([
  "bash agent.sh",
  "/bin/bash ./agent.sh --now",
  "sh -c while_read",
  "bash -lc agent",
  "bash -o pipefail agent.sh",
  "bash --rcfile x agent.sh",
  "node agent.js",
  "node --require ./a.js agent.js",
  "node -e 1",
  "python3 agent.py",
  "python3.11 -u agent.py",
  "python3 -m agent",
  "claude",
  "/usr/bin/claude --resume",
  "codex",
  "cat",
  "env A=1 nice -n 5 python3 agent.py",
  "timeout 100 node agent.js",
  "sudo -u bob python3 agent.py",
  "docker logs -f x",
  "perl -e x",
])("%s is asked in a pane that a person has marked, and nowhere else", (line) => {
  expect(mayType([program(line)], [], true)).toEqual({ is: "yes" });
  expect(mayType([program(line)])).toMatchObject({
    is: "no",
    why: expect.stringContaining("is not known; [warden] ask can name it"),
  });
});

test.each([
  ["bash agent.sh", "agent.sh"],
  ["bash -o pipefail /opt/agent.sh x", "agent.sh"],
  ["python3 -u /opt/agent.py", "agent.py"],
  ["node --require ./a.js agent.js", "agent.js"],
  ["my-agent --now", "my-agent"],
])("%s is asked where %s is named", (line, name) => {
  expect(mayType([program(line)], [name])).toEqual({ is: "yes" });
});

test.each([
  ["vim agent.sh", "agent.sh"],
  ["less agent.sh", "agent.sh"],
  ["bash -c agent.sh", "agent.sh"],
  ["cat agent.sh", "agent.sh"],
  ["bash", "bash"],
])("%s is not, though %s is named", (line, name) => {
  expect(mayType([program(line)], [name]).is).not.toBe("yes");
});

test.each([
  "bash",
  "-bash",
  "-zsh",
  "/usr/bin/zsh -i",
  "bash --norc -i",
  "bash -s",
  "bash -o vi",
  "bash --rcfile x",
  "sh -",
  "fish -l",
  "tcsh",
  "busybox sh",
  "env A=1 bash",
  "sudo -u bob bash",
])("%s is a shell's prompt", (line) => {
  expect(mayType([program(line)]).is).toBe("shell");
  expect(mayType([program(line)], [], true).is).toBe("shell");
});

test.each([
  "vim notes",
  "less log",
  "man tmux",
  "python3",
  "python3 -i agent.py",
  "python3 -m pdb agent.py",
  "python3 -W ignore",
  "node",
  "node --inspect",
  "node -r ./a.js",
  "irb",
  "psql -h db",
  "sqlite3 x.db",
  "gdb -p 1",
  "ssh host",
  "mosh host",
  "docker exec -it x sh",
  "docker compose exec x sh",
  "kubectl exec -it x -- agent",
  "su",
  "sudo -i",
  "sudo -s",
  "tmux attach",
  "screen",
  "top",
  "perl",
  "nohup ssh host",
  "python3 /usr/bin/ipython",
  "/usr/bin/python3 -u /home/me/.local/bin/ipython --profile x",
  "python3 /usr/bin/bpython",
  "python3 -m IPython",
  "ruby /usr/bin/irb",
  "bc -l",
  "mysql",
])("%s is not typed to, also in a marked pane", (line) => {
  expect(mayType([program(line)]).is).toBe("no");
  expect(mayType([program(line)], [], true).is).toBe("no");
});

test("one that may not be asked is enough, whatever it belongs to", () => {
  expect(mayType([program("bash agent.sh"), program("less log", false)]).is).toBe("no");
  expect(mayType([program("bash agent.sh"), program("ssh host")]).is).toBe("no");
  expect(mayType([program("bash agent.sh"), program("bash")]).is).toBe("shell");
});

test("a program that reads another input takes no commands from the terminal", () => {
  const ask = ["agent.js"];
  expect(mayType([program("node agent.js"), program("bash", false)], ask).is).toBe("yes");
  expect(mayType([program("node agent.js"), program("python3", false)], ask).is).toBe("yes");
});

test("a program that hands its input to a shell is not typed to", () => {
  expect(mayType([program("cat"), program("sh -x", false)], ["cat"]).is).toBe("no");
  expect(mayType([program("cat"), program("sh work.sh", false)], ["cat"]).is).toBe("yes");
});

test("a shell that was given another name is a shell", () => {
  expect(mayType([{ argv: ["agent"], comm: "bash", hasTerminal: true }]).is).toBe("shell");
});

test("where nothing can be seen, nothing is typed", () => {
  expect(mayType([]).is).toBe("no");
});

test("a program that a person has named may be typed to, whatever it is", () => {
  const foreground = [
    { argv: ["python3", "/opt/my-agent.py"], comm: "python3", hasTerminal: true },
  ];
  expect(isNamed(foreground, ["my-agent.py"])).toBe(true);
  expect(isNamed(foreground, ["agent.py"])).toBe(false);
  const repl = [{ argv: ["ipython"], comm: "ipython", hasTerminal: true }];
  expect(mayType(repl).is).toBe("no");
  expect(mayType(repl, ["ipython"]).is).toBe("yes");
});
