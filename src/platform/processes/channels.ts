import type { ChildProcess, StdioOptions } from "node:child_process";
import { closeSync, constants, openSync, writeSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import type { Readable } from "node:stream";
import { giveBack, openEnd, type Pipe, takePipe } from "./pipes.ts";

/**
 * What a handler has as stdin, stdout and stderr, and our ends of it.
 *
 * stdin is a file without a name; stdout and stderr are one pipe, so that lines stay in the order in
 * which they were written, unless the caller reads stdout by itself. Where the system has neither,
 * they are node's pipes. Those are sockets, which cannot be opened a second time: `cat /dev/stdin` and
 * `echo oops > /dev/stderr` fail, and `bash -c` takes itself for a remote login and reads .bashrc.
 */
export interface Channels {
  readonly stdio: StdioOptions;
  /** To be called right after the start. Returns what there is to read: stdout first. */
  connect(child: ChildProcess): Readable[];
  /** Closes our ends, also while other processes hold theirs. */
  close(): void;
}

/** `isSecret`: the input must not be a file, which every process that inherits it could read again. */
export function openChannels(input: string, isApart = false, isSecret = false): Channels {
  const output = openOutput(isApart);
  try {
    const file = isSecret ? null : fileWith(input);
    return file === null ? withSocketInput(input, output) : withFileInput(file, output);
  } catch (error) {
    output.close();
    throw error;
  }
}

function openOutput(isApart: boolean): Output {
  const pipe = takePipe();
  if (pipe === null) return socketOutput();
  const first = pipeOutput(pipe);
  if (!isApart) return first;
  try {
    const other = takePipe();
    if (other !== null) return both(first, pipeOutput(other));
  } catch (error) {
    first.close();
    throw error;
  }
  first.close();
  return socketOutput();
}

const { O_RDONLY, O_RDWR, O_WRONLY, O_NONBLOCK, O_DIRECTORY } = constants;

interface Output {
  /** For stdout and for stderr. */
  readonly stdio: readonly ["pipe" | number, "pipe" | number];
  connect(child: ChildProcess): Readable[];
  close(): void;
}

function pipeOutput(pipe: Pipe): Output {
  let ours: number[] = [];
  let reader: Socket | undefined;
  const close = () => {
    for (const fd of ours) closeSync(fd);
    reader?.destroy();
    giveBack(pipe, reader === undefined || reader.readableEnded);
  };
  try {
    // In this order: opening one end for blocking use waits for the other.
    const from = openEnd(pipe, O_RDONLY | O_NONBLOCK);
    ours = [from];
    const to = openEnd(pipe, O_WRONLY);
    ours = [from, to];
    const connect = () => {
      closeSync(to);
      ours = [];
      reader = new Socket({ fd: from, readable: true, writable: false });
      return [reader];
    };
    return { stdio: [to, to], connect, close };
  } catch (error) {
    close();
    throw error;
  }
}

function both(stdout: Output, stderr: Output): Output {
  return {
    stdio: [stdout.stdio[0], stderr.stdio[1]],
    connect: (child) => [...stdout.connect(child), ...stderr.connect(child)],
    close: () => {
      stdout.close();
      stderr.close();
    },
  };
}

function socketOutput(): Output {
  let streams: Readable[] = [];
  return {
    stdio: ["pipe", "pipe"],
    connect: ({ stdout, stderr }) => {
      streams = [stdout, stderr].filter((stream) => stream !== null);
      return streams;
    },
    close: () => {
      for (const stream of streams) stream.destroy();
    },
  };
}

function withFileInput(file: number, output: Output): Channels {
  let isOpen = true;
  const closeFile = () => {
    if (isOpen) closeSync(file);
    isOpen = false;
  };
  return {
    stdio: [file, ...output.stdio],
    connect: (child) => {
      closeFile();
      return output.connect(child);
    },
    close: () => {
      closeFile();
      output.close();
    },
  };
}

function withSocketInput(input: string, output: Output): Channels {
  let child: ChildProcess | undefined;
  return {
    stdio: ["pipe", ...output.stdio],
    connect: (started) => {
      child = started;
      child.stdin?.on("error", () => {}).end(input); // it need not read its task
      return output.connect(started);
    },
    close: () => {
      child?.stdin?.destroy();
      output.close();
    },
  };
}

const O_TMPFILE = 0o20000000 | O_DIRECTORY; // Linux; node has no name for it

/** A file without a name that is read from its beginning; null where there is no such thing. */
function fileWith(text: string): number | null {
  if (process.platform !== "linux") return null;
  // In memory if possible: a file per task on the disk would slow down others (see note-files.ts).
  return fileIn("/dev/shm", text) ?? fileIn(tmpdir(), text);
}

function fileIn(folder: string, text: string): number | null {
  let fd: number | undefined;
  try {
    fd = openSync(folder, O_RDWR | O_TMPFILE, 0o600);
    const bytes = Buffer.from(text);
    for (let done = 0; done < bytes.length; ) {
      done += writeSync(fd, bytes, done, bytes.length - done, done);
    }
    return fd;
  } catch {
    if (fd !== undefined) closeSync(fd);
    return null; // not on this filesystem, or it is full; a socket needs no room
  }
}
