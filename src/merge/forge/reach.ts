import { VivError } from "../../base/errors.ts";
import { quoted } from "../../base/text.ts";
import { notInstalled } from "./api-call.ts";
import type { ForgeSettings } from "./config.ts";
import { type Forge, type ForgeHost, type ForgeName, held, type Place } from "./forge.ts";
import { chooseForge, placeOfName, placeOfUrl } from "./place.ts";
import { remoteOf, urlsOf } from "./remote.ts";

/** The forge of a repository: the remote, its place, and the program that speaks to it. */
export interface Reached {
  forge: Forge;
  remote: string;
}

export async function forgeFor(
  host: ForgeHost,
  settings: ForgeSettings & { into?: string },
  { repository, branch }: { repository: string; branch: string },
): Promise<Reached> {
  const { remote: wanted, repo, into } = settings;
  const branches = [branch, ...(into === undefined ? [] : [into])];
  const remote = await remoteOf(repository, { wanted, branches });
  const urls = await urlsOf(repository, remote);
  const from = urls.map(placeOfUrl).find((one) => one !== null) ?? null;
  const place = repo === undefined ? from : placeOfName(repo);
  const at = `git -C ${quoted(repository)} push ${quoted(remote)} ${quoted(branch)}`;
  if (place === null) {
    throw new VivError(
      "INVALID",
      `the remote ${remote} leads to no forge that viv knows; set repo = "owner/name" in [merge], or push by hand.`,
      { command: at },
    );
  }
  const name = chooseForge(settings.forge, place, (one) => host.find(one) !== null);
  if (name === null) {
    throw held(
      "neither gh nor glab is installed; install the one of your forge and log in, or push by hand and open the request on its site.",
      { command: at },
    );
  }
  if (host.find(name) === null) throw notInstalled(name);
  return { forge: await forgeAt(host, name, place, repository, from ?? place), remote };
}

/** `from`: the repository that branches are pushed to, which may be a fork of `place`. */
export async function forgeAt(
  host: ForgeHost,
  name: ForgeName,
  place: Place,
  cwd: string,
  from = place,
): Promise<Forge> {
  if (name === "gh") return (await import("./gh.ts")).ghForge(host, place, cwd, from);
  if (from.path !== place.path) {
    throw new VivError(
      "INVALID",
      "merge requests from a fork are not supported on GitLab; push to the project itself.",
    );
  }
  return (await import("./glab.ts")).glabForge(host, place, cwd);
}
