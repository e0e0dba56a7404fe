import { type ChildProcess, spawn } from "node:child_process";
import { limitMark } from "./limit-mark.ts";

/**
 * Handlers end with us, however we end. A small shell beside us, in a session of its own, reads from
 * a pipe that only we hold which trees we run; when we are gone, that is its end, and it kills them:
 * every process with the mark of one of their claims (see process-tree.ts), until none is left.
 *
 * It is started with the first tree, and again if it dies. It ends with us when nothing runs.
 */
export class Keeper {
  readonly #trees = new Set<KeptTree>();
  #shell: ChildProcess | undefined;

  /** Before a tree is started. It is kept until it is let go. */
  keep(claim: string): KeptTree {
    const tree: KeptTree = {
      claim,
      pid: 0,
      started: (pid) => {
        tree.pid = pid;
        if (!HAS_MARKS) this.#send();
      },
      letGo: () => {
        if (this.#trees.delete(tree)) this.#send();
      },
    };
    this.#trees.add(tree);
    this.#send();
    return tree;
  }

  #send(): void {
    if (this.#shell === undefined && this.#trees.size > 0) this.#start();
    const trees = [...this.#trees].map(({ claim, pid }) => {
      // What would end the entry is left out: the tree is still found by its limit.
      const text = /[\t\n\0]/.test(claim) ? "" : claim;
      return `${pid} ${limitMark(claim)} ${text}`;
    });
    this.#shell?.stdin?.write(`${trees.join("\t")}\n`);
  }

  #start(): void {
    try {
      const shell = spawn("/bin/sh", ["-c", KEEPER_SCRIPT], {
        cwd: "/",
        env: { PATH: `${process.env.PATH ?? ""}:/usr/bin:/bin`, LC_ALL: "C" },
        detached: true,
        stdio: ["pipe", "ignore", "ignore"],
      });
      const onEnd = () => {
        if (this.#shell !== shell) return;
        this.#shell = undefined;
        const again = setTimeout(() => this.#trees.size > 0 && this.#send(), RESTART_MS);
        again.unref();
      };
      shell.once("error", onEnd);
      shell.once("exit", onEnd);
      shell.stdin?.on("error", () => {}); // it ended: the exit event follows
      shell.unref();
      (shell.stdin as unknown as { unref(): void } | null)?.unref();
      this.#shell = shell;
    } catch {
      // No room for a process just now: the next tree tries again, and until then the reaper ends
      // what a dead worker leaves.
    }
  }
}

export interface KeptTree {
  readonly claim: string;
  pid: number;
  started(pid: number): void;
  letGo(): void;
}

const HAS_MARKS = process.platform === "linux";
const RESTART_MS = 1_000;

/**
 * Each line is the whole list of trees, `<pid> <limit> <claim>` with tabs between them. Of the last two
 * those are used that are whole: the last may be cut off, and what is cut off could mean other processes.
 * A limit that is no mark is ignored, for the same reason: an empty one would match every process. Three
 * empty looks in a row are enough, because a program that is just being started has its marks at once.
 *
 * We may be part of a handler's tree ourselves. The shell takes that mark off: it must outlive us to end ours.
 */
export const KEEPER_SCRIPT = `
ulimit -S -m unlimited 2>/dev/null
nl='
'
tab=$(printf '\\t')
list=$(tail -n 2; echo .)
case $list in . | "$nl." | *"$nl$nl.") exit 0 ;; esac
case $list in *"$nl"*) list=\${list%"$nl"*} ;; *) exit 0 ;; esac
IFS="$tab$nl"
set -f
limits=none
set --
for tree in $list; do
  pid=\${tree%% *}
  tree=\${tree#* }
  limit=\${tree%% *}
  case $limit in *[!0-9]*) continue ;; esac
  [ \${#limit} -eq 19 ] || continue
  limits="$limits|$limit"
  claim=\${tree#* }
  [ -z "$claim" ] || set -- "$@" -e "VIV_CLAIM=$claim"
  [ -d /proc/self ] || [ "$pid" -lt 2 ] || kill -9 -- "-$pid" 2>/dev/null
done
set +f
round=0
calm=0
while [ -d /proc/self ] && [ $round -lt 100 ] && [ $calm -lt 3 ]; do
  calm=$((calm + 1))
  for path in $(
    grep -lsE "^Max resident set +($limits) " /proc/[0-9]*/limits
    [ $# -eq 0 ] || grep -lszxF "$@" /proc/[0-9]*/environ
  ); do
    pid=\${path#/proc/}
    pid=\${pid%%/*}
    [ "$pid" = $$ ] || ! kill -9 "$pid" 2>/dev/null || calm=0
  done
  round=$((round + 1))
  sleep 0.1
done
`;
