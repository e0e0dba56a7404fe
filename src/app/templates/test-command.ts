import { isRecord, parseRecord } from "../../base/json.ts";

/** The command that tests a repository, and what says so. */
export interface TestCommand {
  command: string;
  /** Null: the user. */
  from: string | null;
  /** What a fresh checkout needs before: installed packages. */
  setup?: string;
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
    ]) ??
    ofPytest(read) ??
    firstOf([[/rspec/.test(read("Gemfile") ?? ""), "bundle exec rspec", "Gemfile"]])
  );
}

function firstOf(rules: readonly (readonly [boolean, string, string])[]): TestCommand | null {
  const [, command, from] = rules.find(([holds]) => holds) ?? [];
  return command === undefined || from === undefined ? null : { command, from };
}

/** Where pytest is set up; in the environment that the lockfile describes, which a fresh checkout lacks. */
function ofPytest(read: ReadTop): TestCommand | null {
  const isThere = (name: string) => read(name) !== null;
  const names = (name: string) => /pytest/.test(read(name) ?? "");
  const from =
    ["pytest.ini", "conftest.py"].find(isThere) ?? ["pyproject.toml", "setup.cfg"].find(names);
  if (from === undefined) return null;
  if (isThere("uv.lock")) return { command: "uv run pytest -q", from, setup: "uv sync" };
  if (isThere("poetry.lock"))
    return { command: "poetry run pytest -q", from, setup: "poetry install" };
  return { command: "python3 -m pytest -q", from };
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
  const text = read("package.json");
  const script = tableIn(text, "scripts").test;
  if (typeof script !== "string" || script.trim() === "" || PLACEHOLDER.test(script)) return null;
  const [, command, setup] = MANAGERS.find(([lock]) => read(lock) !== null) ?? [];
  const from = "package.json";
  if (command !== undefined) return { command, from, setup };
  const needs = { ...tableIn(text, "dependencies"), ...tableIn(text, "devDependencies") };
  if (Object.keys(needs).length === 0) return { command: "npm test", from };
  return { command: "npm test", from, setup: "npm install --no-package-lock" };
}

function ofComposer(read: ReadTop): TestCommand | null {
  const from = "composer.json";
  if (!("test" in tableIn(read(from), "scripts"))) return null;
  return { command: "composer test", from, setup: "composer install" };
}

function tableIn(text: string | null, key: string): Record<string, unknown> {
  const table = parseRecord(text)?.[key];
  return isRecord(table) ? table : {};
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
