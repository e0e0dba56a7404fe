import { isRecord } from "../../base/json.ts";

/** The command that tests a repository, and what says so. */
export interface TestCommand {
  command: string;
  from: string;
  /** What a fresh checkout needs before: installed packages. */
  setup?: string;
  /** Folders of the checkout that a worktree may share instead. */
  link?: readonly string[];
}

/** The text of a file at the top of the repository; null: there is none. */
export type ReadTop = (name: string) => string | null;

/** The repository's own tests, as its files declare them; null: nothing does. The first one counts. */
export function findTestCommand(read: ReadTop): TestCommand | null {
  const has = (name: string) => read(name) !== null;
  return (
    ofPackageJson(read) ??
    ofTarget(read, ["Makefile", "makefile", "GNUmakefile"], /^test\b[^=\n]*:(?!=)/m, "make test") ??
    ofTarget(read, ["justfile", "Justfile", ".justfile"], /^@?test\b[^:\n]*:(?!=)/m, "just test") ??
    ofComposer(read) ??
    firstOf([
      [has("Cargo.toml"), "cargo test", "Cargo.toml"],
      [has("go.mod"), "go test ./...", "go.mod"],
      [has("gradlew"), "./gradlew test", "gradlew"],
      [has("build.gradle") || has("build.gradle.kts"), "gradle test", "build.gradle"],
      [has("mvnw"), "./mvnw -q test", "mvnw"],
      [has("pom.xml"), "mvn -q test", "pom.xml"],
      [has("mix.exs"), "mix test", "mix.exs"],
      [has("deno.json") || has("deno.jsonc"), "deno test", "deno.json"],
      [has("tox.ini"), "tox -q", "tox.ini"],
      [has("pytest.ini") || has("conftest.py"), "python3 -m pytest -q", "pytest.ini"],
      [/pytest/.test(read("pyproject.toml") ?? ""), "python3 -m pytest -q", "pyproject.toml"],
      [/pytest/.test(read("setup.cfg") ?? ""), "python3 -m pytest -q", "setup.cfg"],
      [/rspec/.test(read("Gemfile") ?? ""), "bundle exec rspec", "Gemfile"],
    ])
  );
}

function firstOf(rules: readonly (readonly [boolean, string, string])[]): TestCommand | null {
  const [, command, from] = rules.find(([holds]) => holds) ?? [];
  return command === undefined || from === undefined ? null : { command, from };
}

/** By the lockfile; the first one counts. */
const MANAGERS = [
  ["bun.lock", "bun run test", "bun install --frozen-lockfile"],
  ["bun.lockb", "bun run test", "bun install --frozen-lockfile"],
  ["pnpm-lock.yaml", "pnpm test", "pnpm install --frozen-lockfile"],
  ["yarn.lock", "yarn test", "yarn install --frozen-lockfile"],
  ["package-lock.json", "npm test", "npm ci"],
  ["npm-shrinkwrap.json", "npm test", "npm ci"],
] as const;

/** What `npm init` writes where there are no tests. */
const PLACEHOLDER = /no test specified/;

function ofPackageJson(read: ReadTop): TestCommand | null {
  const script = scriptsIn(read("package.json")).test;
  if (typeof script !== "string" || script.trim() === "" || PLACEHOLDER.test(script)) return null;
  const [, command, setup] = MANAGERS.find(([lock]) => read(lock) !== null) ?? [];
  const from = "package.json";
  if (command === undefined) return { command: "npm test", from };
  return { command, from, setup, link: ["node_modules"] };
}

function ofComposer(read: ReadTop): TestCommand | null {
  const from = "composer.json";
  if (!("test" in scriptsIn(read(from)))) return null;
  return { command: "composer test", from, setup: "composer install", link: ["vendor"] };
}

function scriptsIn(text: string | null): Record<string, unknown> {
  try {
    const { scripts } = JSON.parse(text ?? "{}") as { scripts?: unknown };
    return isRecord(scripts) ? scripts : {};
  } catch {
    return {}; // not JSON: no tests are found in it
  }
}

function ofTarget(
  read: ReadTop,
  names: readonly string[],
  target: RegExp,
  command: string,
): TestCommand | null {
  const from = names.find((name) => target.test(read(name) ?? ""));
  return from === undefined ? null : { command, from };
}
