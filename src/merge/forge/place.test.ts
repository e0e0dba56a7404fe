import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chooseForge, nameOfPlace, placeOfName, placeOfUrl } from "./place.ts";

describe("the place of a remote's URL", () => {
  it.each([
    ["https://github.com/acme/app.git", "github.com", "acme/app"],
    ["https://github.com/acme/app/", "github.com", "acme/app"],
    ["https://user:hunter2@github.com/acme/app", "github.com", "acme/app"],
    ["git@github.com:acme/app.git", "github.com", "acme/app"],
    ["ssh://git@ssh.github.com:443/acme/app.git", "github.com", "acme/app"],
    ["ssh://git@git.acme.org:2222/group/sub/app.git", "git.acme.org", "group/sub/app"],
    ["https://git.acme.org:8443/group/app", "git.acme.org:8443", "group/app"],
    ["work:acme/app.git", null, "acme/app"],
    ["git@gitlab.com:group/sub/app", "gitlab.com", "group/sub/app"],
  ])("%s", (url, host, path) => {
    expect(placeOfUrl(url)).toEqual({ host, path });
  });

  it.each([
    ...["/srv/git/app.git", "../app", "file:///srv/app.git", "app", "https://github.com/acme"],
    ...["https://github.com/acme/../app", "https://github.com/acme/a b", "git@host:--exec/x;y"],
  ])("is none for %s", (url) => {
    expect(placeOfUrl(url)).toBeNull();
  });

  it("never has a login in it, and is no flag", () => {
    const word = fc.stringMatching(/^[a-z0-9]{1,8}$/);
    fc.assert(
      fc.property(word, word, word, word, (user, pass, owner, name) => {
        const place = placeOfUrl(`https://${user}:SECRET${pass}@git.acme.org/${owner}/${name}`);
        expect(place).toEqual({ host: "git.acme.org", path: `${owner}/${name}` });
      }),
    );
  });
});

describe("the name of a repository", () => {
  it.each(["acme/app", "github.com/acme/app", "git.acme.org:8443/group/sub/app"])("%s", (name) => {
    const place = placeOfName(name);
    expect(place && nameOfPlace(place)).toBe(name);
  });

  it.each(["app", "", "acme/", "acme/app?x", "acme/a;b", "-x.y:1;z/a/b"])("is none: %s", (name) => {
    expect(placeOfName(name)).toBeNull();
  });
});

describe("the program", () => {
  const both = () => true;
  it("is the one that is set, else by the host, else the one that is installed", () => {
    const place = (host: string | null) => ({ host, path: "a/b" });
    expect(chooseForge("glab", place("github.com"), both)).toBe("glab");
    expect(chooseForge(undefined, place("github.com"), () => false)).toBe("gh");
    expect(chooseForge(undefined, place("gitlab.acme.org"), both)).toBe("glab");
    expect(chooseForge(undefined, place("github.acme.org"), both)).toBe("gh");
    expect(chooseForge(undefined, place("git.acme.org"), (name) => name === "glab")).toBe("glab");
    expect(chooseForge(undefined, place(null), () => false)).toBeNull();
  });
});
