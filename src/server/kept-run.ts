import { statSync } from "node:fs";
import { join } from "node:path";
import { isVivError, VivError } from "../base/errors.ts";
import type { Store } from "../queue/store.ts";
import type { ServedRun, ServerHost } from "./server-host.ts";

/**
 * The run of a server, open for as long as it serves: to open it for each request would take longer
 * than most answers. A run that was removed and made anew is opened anew; while it is not there, each
 * request gets its error. On a disk that is read-only it is open for reading.
 */
export class KeptRun {
  readonly #host: Pick<ServerHost, "open" | "watchConfig">;
  #run: ServedRun;
  #open: { store: Store; identity: string } | null = null;
  #opening: Promise<Store> | null = null;
  #unwatch = () => {};
  #isClosed = false;
  readonly #warn: (sentence: string) => void;

  constructor(
    host: Pick<ServerHost, "open" | "watchConfig">,
    run: ServedRun,
    warn: (sentence: string) => void,
    onReloaded: (file: string) => void,
  ) {
    this.#host = host;
    this.#run = run;
    this.#warn = warn;
    const { config } = run;
    if (config === undefined) return;
    this.#unwatch = host.watchConfig(config.file, (read) => {
      if ("problem" in read)
        return warn(`${read.problem}\nthe last good viv.toml still counts; see: viv config check`);
      this.#run = { ...this.#run, config: read.config };
      onReloaded(read.config.file);
    });
  }

  /** With the viv.toml that counts now. */
  get run(): ServedRun {
    return this.#run;
  }

  async store(): Promise<Store> {
    const identity = this.#identity();
    if (this.#open?.identity === identity) return this.#open.store;
    this.#opening ??= this.#openAgain(identity).finally(() => {
      this.#opening = null;
    });
    return this.#opening;
  }

  async #openAgain(identity: string): Promise<Store> {
    if (this.#isClosed) throw new VivError("INTERRUPTED", "the server stops.");
    const before = this.#open;
    this.#open = null;
    before?.store.close().catch(() => {}); // its folder is gone
    const store = await this.#openRun();
    this.#open = { store, identity };
    return store;
  }

  async #openRun(): Promise<Store> {
    try {
      return await this.#host.open(this.#run, { readOnly: false });
    } catch (error) {
      if (!isVivError(error, "READ_ONLY") && !isVivError(error, "DISK_FULL")) throw error;
      this.#warn(`${error.message} The run is served for reading.`);
      return this.#host.open(this.#run, { readOnly: true });
    }
  }

  /** Another one when the run was made anew. */
  #identity(): string {
    const { path } = this.#run;
    const [root, claimed] = [path, join(path, "claimed")].map((one) =>
      statSync(one, { throwIfNoEntry: false }),
    );
    if (root === undefined || claimed === undefined) {
      const message = `the run ${path} is not there; make it with: viv init ${path}`;
      throw new VivError("RUN_NOT_FOUND", message, { path });
    }
    return `${root.dev}.${root.ino}.${claimed.ino}`;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#unwatch();
    await this.#opening?.catch(() => {}); // the request has the error
    await this.#open?.store.close({ warn: this.#warn });
    this.#open = null;
  }
}
