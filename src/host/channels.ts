import type { ChildProcess } from "node:child_process";
import { closeSync, constants, writeSync } from "node:fs";
import { Socket } from "node:net";
import type { Readable } from "node:stream";
import { giveBack, hasReader, openEnd, takePipes } from "./pipes.ts";

/**
 * What a handler has as stdin, stdout and stderr, and our ends of it.
 *
 * - Pipes, where we can have them. They behave as in a shell, and stdout and stderr are one, so
 *   that lines stay in the order they were written in.
 * - What node calls pipes elsewhere. Those are sockets, which cannot be opened a second time: with
 *   them `echo oops > /dev/stderr` and `cat /dev/stdin` fail, and `bash -c` takes itself for a
 *   remote login and reads .bashrc.
 */
export interface Channels {
  readonly stdio: "pipe" | [number, number, number];
  /** To be called right after the start: passes `input` on, and returns what there is to read. */
  connect(child: ChildProcess, input: string): Readable[];
  /** Lets go of everything, whoever else may hold it. */
  close(): void;
}

export function openChannels(): Channels {
  return openPipes() ?? openSockets();
}

function openSockets(): Channels {
  let child: ChildProcess | undefined;
  return {
    stdio: "pipe",
    connect: (started, input) => {
      child = started;
      child.stdin?.on("error", ignoreBroken).end(input);
      return [child.stdout, child.stderr].filter((stream) => stream !== null);
    },
    close: () => {
      for (const stream of [child?.stdin, child?.stdout, child?.stderr]) stream?.destroy();
    },
  };
}

const { O_RDONLY, O_WRONLY, O_NONBLOCK } = constants;

function openPipes(): Channels | null {
  const [forInput, forOutput] = takePipes(2) ?? [];
  if (forInput === undefined || forOutput === undefined) return null;
  const ours = new Set<number>();
  const open = (pipe: number, flags: number) => {
    const fd = openEnd(pipe, flags);
    ours.add(fd);
    return fd;
  };
  const close = (...fds: number[]) => {
    for (const fd of fds) if (ours.delete(fd)) closeSync(fd);
  };
  let reader: Socket | undefined;
  let writer: Socket | undefined;
  const closeAll = () => {
    close(...ours);
    writer?.destroy();
    reader?.destroy();
    giveBack(forInput, !hasReader(forInput));
    giveBack(forOutput, reader === undefined || reader.readableEnded);
  };
  try {
    const input = { reader: open(forInput, O_RDONLY | O_NONBLOCK), writer: 0 };
    input.writer = open(forInput, O_WRONLY | O_NONBLOCK);
    const output = { reader: open(forOutput, O_RDONLY | O_NONBLOCK), writer: 0 };
    output.writer = open(forOutput, O_WRONLY);
    return {
      // Node lets the handler's ends block, as a program expects.
      stdio: [input.reader, output.writer, output.writer],
      connect: (_, text) => {
        const rest = writeWhatFits(input.writer, text);
        close(input.reader, output.writer);
        if (rest.length === 0) close(input.writer);
        else {
          ours.delete(input.writer);
          writer = new Socket({ fd: input.writer, readable: false, writable: true });
          writer.on("error", ignoreBroken).end(rest);
        }
        ours.delete(output.reader);
        reader = new Socket({ fd: output.reader, readable: true, writable: false });
        return [reader.on("error", ignoreBroken)];
      },
      close: closeAll,
    };
  } catch (error) {
    closeAll();
    throw error;
  }
}

/** Most tasks fit into the pipe at once, and then there is nothing to wait for. */
function writeWhatFits(fd: number, text: string): Buffer {
  const bytes = Buffer.from(text);
  try {
    return bytes.subarray(writeSync(fd, bytes));
  } catch {
    return bytes; // the pipe is smaller than the kernel's page; the stream tells of other errors
  }
}

/** A handler need not read its task; and a pipe that broke has told us all it had. */
function ignoreBroken(): void {}
