import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { MemberStatus } from "../../src/crew/member-status.ts";
import { Running, viv } from "../cli/support.ts";
import { until } from "./deadline.ts";
import { newFolder } from "./folders.ts";

/** A crew on disk with shell scripts as members. */
export class CrewFolder {
  readonly folder = newFolder("viv-crew-");
  readonly state = join(this.folder, ".crew");
  readonly env: Record<string, string> = { VIV_STATE: join(this.folder, "machine") };
  readonly #members = new Map<string, string>();

  /** A member that runs that script; `more` are lines for its drawer. */
  member(name: string, script: string, more = ":INTERVAL: 1h\n"): this {
    writeFileSync(join(this.folder, `${name}.org`), `You are ${name}.\n`);
    const path = join(this.folder, `${name}.sh`);
    writeFileSync(path, `#!/bin/sh\n${script}\n`);
    chmodSync(path, 0o755);
    const drawer = `:DEF: ${name}.org\n:COMMAND: exec ./${name}.sh\n${more}`;
    this.#members.set(name, `* ${name}\n:PROPERTIES:\n${drawer}:END:\n`);
    return this;
  }

  without(name: string): this {
    this.#members.delete(name);
    return this;
  }

  get manifest(): string {
    return [...this.#members.values()].join("");
  }

  write(file = "crew.org", text = this.manifest): string {
    const path = join(this.folder, file);
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, text);
    return path;
  }

  up(...flags: string[]): Running {
    this.write();
    return this.running("crew", "up", "crew.org", "--grace=0s", "--stagger=0s", "--json", ...flags);
  }

  running(...args: string[]): Running {
    return new Running(args, { cwd: this.folder, env: this.env });
  }

  viv(...args: string[]) {
    return viv(args, { cwd: this.folder, env: this.env });
  }

  json(...args: string[]) {
    const said = this.viv(...args, "--json");
    expect(said).toMatchObject({ status: 0, stderr: "" });
    return JSON.parse(said.stdout);
  }

  status(name: string): MemberStatus {
    return JSON.parse(readFileSync(join(this.state, `status-${name}.json`), "utf8"));
  }

  lines(file: string): string[] {
    const path = join(this.folder, file);
    return existsSync(path) ? readFileSync(path, "utf8").split("\n").slice(0, -1) : [];
  }

  async hasLines(file: string, count: number): Promise<string[]> {
    await until(`${count} lines in ${file}`, () => this.lines(file).length >= count);
    return this.lines(file);
  }

  touch(file: string): void {
    writeFileSync(join(this.folder, file), "");
  }
}

/** The events of a crew with --json so far. */
export function eventsOf({ stdout }: Running): Record<string, unknown>[] {
  return stdout
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

export function isAlive(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false; // gone
  }
}
