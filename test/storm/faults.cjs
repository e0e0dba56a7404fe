// Preloaded (NODE_OPTIONS=--require) into the processes of a storm: makes their system calls fail,
// crawl, or be the last thing that they do. STORM_FAULTS says which, as JSON:
//
//   run     only what lies below this folder is struck (and the start of processes)
//   seed    the same seed strikes the same calls, as far as the process makes the same ones
//   log     one line for each strike
//   name    who this is, for the log
//   at      [{call, what, code?, ms?}]: at that call, counted from 1: for a command that is over soon
//   every   {what: seconds}: about that often, at the next call that it can strike: for a worker
//
// What there is:
//   burst   every call that can fail with `code` does, for `ms`
//   single  one call does
//   short   a write takes only half of the bytes, and the next one fails with `code`
//   slow    one fsync takes `ms`
//   die     SIGKILL to itself, just before or just after a call that changes something
//   stop    SIGSTOP to itself, there too; someone else must wake it
//   die-commit, stop-commit   the same just before a claim is renamed to where it ends
//
// A call that fails has done nothing, as on a real disk, but for fsync: its data may be there.
"use strict";

const fs = require("node:fs");
const processes = require("node:child_process");
const { syncBuiltinESMExports } = require("node:module");

const plan = process.env.STORM_FAULTS ? JSON.parse(process.env.STORM_FAULTS) : null;

const NUMBERS = { EIO: 5, EAGAIN: 11, EMFILE: 24, ENOSPC: 28, EROFS: 30, EDQUOT: 122 };
const TEXTS = {
  EIO: "i/o error",
  EAGAIN: "resource temporarily unavailable",
  EMFILE: "too many open files",
  ENOSPC: "no space left on device",
  EROFS: "read-only file system",
};

/** Which kinds of calls fail with it. */
const STRIKES = {
  ENOSPC: ["create", "write", "link", "rename", "mkdir"],
  EDQUOT: ["create", "write", "link", "mkdir"],
  EROFS: ["create", "write", "link", "rename", "mkdir", "unlink"],
  EIO: ["create", "open", "read", "list", "write", "sync", "link", "rename", "mkdir", "unlink"],
  EMFILE: ["create", "open", "list", "spawn"],
  EAGAIN: ["spawn"],
};
const CHANGES = ["write", "link", "rename", "mkdir", "unlink", "sync"];

/** name: [kind, which argument is the path or the descriptor] */
const CALLS = {
  open: ["open", 0],
  readFile: ["read", 0],
  writeFile: ["write", 0],
  appendFile: ["write", 0],
  write: ["write", 0],
  writev: ["write", 0],
  read: ["read", 0],
  ftruncate: ["write", 0],
  truncate: ["write", 0],
  fsync: ["sync", 0],
  fdatasync: ["sync", 0],
  rename: ["rename", 1],
  link: ["link", 1],
  symlink: ["link", 1],
  unlink: ["unlink", 0],
  rm: ["unlink", 0],
  rmdir: ["unlink", 0],
  mkdir: ["mkdir", 0],
  readdir: ["list", 0],
  opendir: ["list", 0],
};

if (plan !== null) install();

function install() {
  const random = mulberry(plan.seed);
  const raw = { append: fs.appendFileSync, fstat: fs.readlinkSync };
  const now = () => Number(process.hrtime.bigint() / 1_000_000n);
  let calls = 0;
  /** @type {{code: string, until: number} | null} */
  let burst = null;
  /** A write that was cut short: the next one on that descriptor fails with this. */
  const cut = new Map();
  const planned = (plan.at ?? []).map((event) => ({ ...event }));
  const repeated = Object.entries(plan.every ?? {}).map(([what, seconds]) => ({
    what,
    seconds,
    due: now() + exponential(seconds),
  }));
  let isOff = false;

  function exponential(seconds) {
    return -Math.log(1 - random()) * seconds * 1000;
  }

  function pick(list) {
    return list[Math.floor(random() * list.length)];
  }

  function note(what, name, path) {
    isOff = true;
    try {
      const line = `${(now() / 1000).toFixed(3)} ${plan.name} ${process.pid} ${what} ${name} ${path}\n`;
      raw.append(plan.log, line);
    } finally {
      isOff = false;
    }
  }

  /** What is to happen to this call, or null. */
  function strike(kind, name, path, isCommit) {
    calls++;
    const t = now();
    if (burst !== null && t >= burst.until) burst = null;
    if (burst !== null) {
      if (!STRIKES[burst.code].includes(kind)) return null;
      note(`burst ${burst.code}`, name, path);
      return { what: "fail", code: burst.code };
    }
    const event = nextEvent(kind, t, isCommit);
    if (event === null) return null;
    if (event.what === "burst" || event.what === "single") {
      const code =
        event.code ?? pick(Object.keys(STRIKES).filter((one) => STRIKES[one].includes(kind)));
      if (event.what === "burst") burst = { code, until: t + (event.ms ?? 100 + random() * 2900) };
      note(`${event.what} ${code}`, name, path);
      return { what: "fail", code };
    }
    const [what, isAtCommit] = event.what.split("-");
    note(what, name, path);
    return { ...event, what, after: !isAtCommit && random() < 0.5 };
  }

  function nextEvent(kind, t, isCommit) {
    const at = planned.findIndex((event) => event.call <= calls && fits(event, kind, isCommit));
    if (at !== -1) return planned.splice(at, 1)[0];
    const due = repeated.find((event) => event.due <= t && fits(event, kind, isCommit));
    if (due === undefined) return null;
    // Not always the first call that fits: otherwise it would mostly be the one that comes most.
    if (random() < 0.8) return null;
    due.due = t + exponential(due.seconds);
    return { what: due.what };
  }

  function fits({ what, code }, kind, isCommit) {
    if (what.endsWith("-commit")) return isCommit;
    if (what === "die" || what === "stop") return CHANGES.includes(kind);
    if (what === "slow") return kind === "sync";
    if (what === "short") return kind === "write";
    if (code !== undefined) return STRIKES[code].includes(kind);
    return Object.values(STRIKES).some((kinds) => kinds.includes(kind));
  }

  function pathOf(target) {
    if (typeof target === "number") {
      try {
        return raw.fstat(`/proc/self/fd/${target}`);
      } catch {
        return ""; // closed already
      }
    }
    if (target !== null && typeof target === "object" && typeof target.fd === "number") {
      return pathOf(target.fd);
    }
    // The store acts by handles of its folders.
    const [, handle, rest = ""] = /^(\/proc\/[^/]+\/fd\/\d+)(\/.*)?$/s.exec(String(target)) ?? [];
    if (handle === undefined) return String(target);
    try {
      return raw.fstat(handle) + rest;
    } catch {
      return String(target);
    }
  }

  function kindOf([kind], name, args) {
    if (!name.startsWith("open") || kind !== "open") return kind;
    const [, flags] = args;
    if (typeof flags === "number") {
      return (flags & (fs.constants.O_WRONLY | fs.constants.O_RDWR)) !== 0 ? "create" : "open";
    }
    return typeof flags === "string" && !/^rs?$/.test(flags) ? "create" : "open";
  }

  function judge(call, name, args) {
    if (isOff) return null;
    const path = pathOf(args[call[1]]);
    if (path !== plan.run && !path.startsWith(`${plan.run}/`)) return null;
    const kind = kindOf(call, name, args);
    if (kind === "write" && cut.has(path)) {
      const code = cut.get(path);
      cut.delete(path);
      note(`short ${code}`, name, path);
      return { what: "fail", code, path, kind };
    }
    const isCommit = kind === "rename" && pathOf(args[0]).startsWith(`${plan.run}/claimed/`);
    const verdict = strike(kind, name, path, isCommit);
    return verdict && { ...verdict, path, kind };
  }

  function end(signal) {
    process.kill(process.pid, signal);
  }

  function nap(ms) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  }

  /** A call that returns its result. */
  function wrapSync(name, call) {
    const original = fs[`${name}Sync`];
    return function struck(...args) {
      const verdict = judge(call, name, args);
      if (verdict === null) return original.apply(this, args);
      const { what } = verdict;
      if (what === "fail") {
        if (verdict.kind === "sync" && random() < 0.5) original.apply(this, args);
        throw failure(verdict.code, name, verdict.path);
      }
      if (what === "slow") nap(verdict.ms ?? 200 + random() * 1300);
      if (what === "short") {
        const less = half(name, args);
        if (less === null) return original.apply(this, args);
        cut.set(verdict.path, verdict.code ?? pick(["ENOSPC", "EIO", "EDQUOT"]));
        return original.apply(this, less);
      }
      const signal = { die: "SIGKILL", stop: "SIGSTOP" }[what];
      if (signal && !verdict.after) end(signal);
      const result = original.apply(this, args);
      if (signal && verdict.after) end(signal);
      return result;
    };
  }

  /** A call whose last argument gets the result. */
  function wrapCallback(name, call) {
    const original = fs[name];
    return function struck(...args) {
      const verdict = judge(call, name, args);
      const done = args.at(-1);
      if (verdict === null || typeof done !== "function") return original.apply(this, args);
      const { what } = verdict;
      if (what === "fail") {
        const refuse = () => done(failure(verdict.code, name, verdict.path));
        if (verdict.kind !== "sync" || random() < 0.5) return void setImmediate(refuse);
        return original.apply(this, [...args.slice(0, -1), refuse]);
      }
      if (what === "slow") {
        const ms = verdict.ms ?? 200 + random() * 1300;
        return void setTimeout(() => original.apply(this, args), ms);
      }
      const signal = { die: "SIGKILL", stop: "SIGSTOP" }[what];
      if (!signal) return original.apply(this, args);
      if (!verdict.after) end(signal);
      return original.apply(this, [
        ...args.slice(0, -1),
        (...results) => {
          if (verdict.after) end(signal);
          done(...results);
        },
      ]);
    };
  }

  function wrapPromise(owner, name, call, args0) {
    const original = owner[name];
    return async function struck(...args) {
      const verdict = judge(call, name, args0 ? [args0(this), ...args] : args);
      if (verdict === null) return original.apply(this, args);
      const { what } = verdict;
      if (what === "fail") {
        if (verdict.kind === "sync" && random() < 0.5) await original.apply(this, args);
        throw failure(verdict.code, name, verdict.path);
      }
      if (what === "slow") {
        await new Promise((resolve) => setTimeout(resolve, verdict.ms ?? 200 + random() * 1300));
      }
      const signal = { die: "SIGKILL", stop: "SIGSTOP" }[what];
      if (signal && !verdict.after) end(signal);
      const result = await original.apply(this, args);
      if (signal && verdict.after) end(signal);
      return result;
    };
  }

  function half(name, args) {
    if (name !== "write") return null;
    const [fd, data, offset, length, position] = args;
    if (typeof data === "string") {
      const bytes = Buffer.from(data);
      return bytes.length < 2 ? null : [fd, bytes, 0, bytes.length >> 1];
    }
    const from = typeof offset === "number" ? offset : 0;
    const whole = typeof length === "number" ? length : data.byteLength - from;
    return whole < 2 ? null : [fd, data, from, whole >> 1, position];
  }

  function failure(code, syscall, path) {
    // node has no name for EDQUOT.
    const name = code === "EDQUOT" ? "Unknown system error -122" : code;
    const text = TEXTS[code] ?? name;
    const error = new Error(`${name}: ${text}, ${syscall} '${path}'`);
    return Object.assign(error, { errno: -NUMBERS[code], code: name, syscall, path });
  }

  const handles = new WeakSet();
  for (const [name, call] of Object.entries(CALLS)) {
    if (fs[`${name}Sync`]) fs[`${name}Sync`] = wrapSync(name, call);
    if (fs[name]) fs[name] = Object.assign(wrapCallback(name, call), fs[name]);
    if (fs.promises[name]) fs.promises[name] = wrapPromise(fs.promises, name, call);
  }
  const openPromise = fs.promises.open;
  fs.promises.open = async (...args) => {
    const handle = await openPromise(...args);
    const prototype = Object.getPrototypeOf(handle);
    if (!handles.has(prototype)) {
      handles.add(prototype);
      const methods = {
        write: "write",
        writeFile: "write",
        appendFile: "write",
        sync: "sync",
        datasync: "sync",
        read: "read",
        readFile: "read",
      };
      for (const [name, kind] of Object.entries(methods)) {
        prototype[name] = wrapPromise(prototype, name, [kind, 0], (self) => self.fd);
      }
    }
    return handle;
  };

  const { spawn, spawnSync } = processes;
  processes.spawn = (file, ...rest) => {
    const verdict = isOff ? null : strike("spawn", "spawn", String(file));
    if (verdict?.what !== "fail") return spawn(file, ...rest);
    const child = new processes.ChildProcess();
    const error = Object.assign(failure(verdict.code, `spawn ${file}`, file), {
      spawnargs: rest[0],
    });
    process.nextTick(() => child.emit("error", error));
    return child;
  };
  processes.spawnSync = (file, ...rest) => {
    const verdict = isOff ? null : strike("spawn", "spawnSync", String(file));
    if (verdict?.what !== "fail") return spawnSync(file, ...rest);
    const error = failure(verdict.code, `spawnSync ${file}`, file);
    return { error, status: null, signal: null, pid: 0, output: null, stdout: null, stderr: null };
  };
  syncBuiltinESMExports();
}

function mulberry(seed) {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = a;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
