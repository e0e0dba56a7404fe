/** What a program of the user's said: its output is bounded, and so is its time. */
export interface ProgramAnswer {
  /** Null when it was ended by a signal, or by us. */
  status: number | null;
  stdout: string;
  stderr: string;
  /** It was ended because its time was up, or because it said too much. */
  cut?: "time" | "size";
}

export interface ProgramRequest {
  argv: readonly [string, ...string[]];
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
  stdin: string;
  timeoutMs: number;
}

const MOST_BYTES = 32 * 1024 * 1024;
const MOST_STDERR = 65_536;

/** Runs it to its end, without a shell and without a terminal. Any exit is an answer. */
export function askProgram({ argv, cwd, env, stdin, timeoutMs }: ProgramRequest) {
  const { spawn } = process.getBuiltinModule("node:child_process"); // slow to load
  const [program, ...args] = argv;
  // A group of its own: what it has started ends with it, and a Ctrl-C is ours to hear.
  const child = spawn(program, args, { cwd, env: { ...env }, stdio: "pipe", detached: true });
  const stdout: Buffer[] = [];
  let bytes = 0;
  let stderr = "";
  let cut: ProgramAnswer["cut"];
  const end = (why: ProgramAnswer["cut"]) => {
    cut ??= why;
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // it has ended by itself
    }
  };
  const timer = setTimeout(() => end("time"), timeoutMs);
  child.stdout.on("data", (data: Buffer) => {
    bytes += data.length;
    if (bytes > MOST_BYTES) end("size");
    else stdout.push(data);
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr = (stderr + text).slice(-MOST_STDERR);
  });
  child.stdin.on("error", () => {}); // it ended before it read all; its exit says why
  child.stdin.end(stdin);
  return new Promise<ProgramAnswer>((resolve, reject) => {
    child.on("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.on("close", (status) => {
      clearTimeout(timer);
      const said = { status, stdout: Buffer.concat(stdout).toString("utf8"), stderr };
      resolve(cut === undefined ? said : { ...said, cut });
    });
  });
}
