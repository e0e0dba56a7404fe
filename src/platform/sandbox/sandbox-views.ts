import { lstatSync, readlinkSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/**
 * How a path looks from inside, the stronger ones last: when two are wanted for one path, the
 * stronger wins. Between a folder and something in it, the deeper one wins.
 *
 * - read: as it is, but read-only
 * - write: as it is
 * - scratch: an empty folder that vanishes with the sandbox
 * - hidden: an empty folder that stays empty, or a file that cannot be opened
 */
const VIEWS = ["read", "write", "scratch", "hidden"] as const;
type View = (typeof VIEWS)[number];

/** Everything that differs from "the whole system, read-only", as options of bubblewrap. */
export class Views {
  readonly #views = new Map<string, { view: View; isFolder: boolean }>();
  readonly #given = new Set<string>();

  /** The path must exist. Its links are followed: bubblewrap cannot mount on a link. */
  add(path: string, view: View): void {
    const real = realpathSync.native(path);
    this.#given.add(resolve(path));
    const before = this.#views.get(real);
    if (before !== undefined && VIEWS.indexOf(before.view) >= VIEWS.indexOf(view)) return;
    this.#views.set(real, { view, isFolder: lstatSync(real).isDirectory() });
  }

  /** Shows what would otherwise be lost in a scratch folder, and leaves all else as it is. */
  keep(path: string): void {
    if (this.viewOf(path) === "scratch") this.add(path, "read");
    else this.#given.add(resolve(path));
  }

  /** The same, and what would be hidden. */
  show(path: string): void {
    if (this.viewOf(path) === "hidden") this.add(path, "read");
    else this.keep(path);
  }

  viewOf(path: string): View {
    for (let at = realpathSync.native(path); ; at = dirname(at)) {
      const found = this.#views.get(at);
      if (found !== undefined) return found.view;
      if (at === "/") return "read";
    }
  }

  /** A folder always comes before what lies in it, so that it does not cover it again. */
  options(): string[] {
    const steps: { path: string; options: string[] }[] = [];
    const seals: string[] = [];
    for (const [path, { view, isFolder }] of this.#views) {
      steps.push({ path, options: mount(path, view, isFolder) });
      if (view === "hidden" && isFolder) seals.push("--remount-ro", path);
    }
    for (const [path, target] of this.#lostLinks()) {
      steps.push({ path, options: ["--symlink", target, path] });
    }
    steps.sort((a, b) => a.path.length - b.path.length); // what contains another path is shorter
    return [...steps.flatMap(({ options }) => options), ...seals];
  }

  /** The links in scratch folders that a path may lead through. */
  #lostLinks(): Map<string, string> {
    const links = new Map<string, string>();
    for (const given of this.#given) {
      for (const link of linksOn(given)) {
        if (this.viewOf(dirname(link)) === "scratch") links.set(link, realpathSync.native(link));
      }
    }
    return links;
  }
}

function mount(path: string, view: View, isFolder: boolean): string[] {
  if (view === "read") return ["--ro-bind", path, path];
  if (view === "write") return ["--bind", path, path];
  return isFolder ? ["--tmpfs", path] : ["--ro-bind", "/dev/null", path];
}

/** Every link that is passed on the way to an existing path, each by a path without links. */
function* linksOn(path: string): Generator<string> {
  let at = "/";
  for (const name of path.split("/").filter((part) => part !== "")) {
    const next = join(at, name);
    if (lstatSync(next).isSymbolicLink()) {
      yield next;
      yield* linksOn(resolve(at, readlinkSync(next)));
    }
    at = realpathSync.native(next);
  }
}
