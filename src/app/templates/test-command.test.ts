import { expect, test } from "vitest";
import { findTestCommand } from "./test-command.ts";

const found = (files: Record<string, string>) =>
  findTestCommand((name) => files[name] ?? null)?.command ?? null;
const npm = (test: string) => JSON.stringify({ scripts: { test } });

test.each<[string, Record<string, string>, string | null]>([
  ["npm", { "package.json": npm("vitest"), "package-lock.json": "" }, "npm test"],
  ["pnpm", { "package.json": npm("vitest"), "pnpm-lock.yaml": "" }, "pnpm test"],
  ["yarn", { "package.json": npm("vitest"), "yarn.lock": "" }, "yarn test"],
  ["bun", { "package.json": npm("vitest"), "bun.lock": "" }, "bun run test"],
  ["no lockfile", { "package.json": npm("node --test") }, "npm test"],
  ["npm's placeholder", { "package.json": npm('echo "Error: no test specified" && exit 1') }, null],
  ["a package.json that is no JSON", { "package.json": "{" }, null],
  ["make", { Makefile: "build:\n\ttrue\ntest: build\n\tgo test\n" }, "make test"],
  ["a variable called test", { Makefile: "test := 1\ntests:\n" }, null],
  ["just", { justfile: "@test filter='':\n  cargo test\n" }, "just test"],
  ["cargo", { "Cargo.toml": "" }, "cargo test"],
  ["go", { "go.mod": "" }, "go test ./..."],
  ["gradle's wrapper", { gradlew: "", "build.gradle": "" }, "./gradlew test"],
  ["maven", { "pom.xml": "" }, "mvn -q test"],
  ["pytest", { "pyproject.toml": "[tool.pytest.ini_options]\n" }, "python3 -m pytest -q"],
  ["uv", { "pyproject.toml": "pytest", "uv.lock": "" }, "uv run pytest -q"],
  ["poetry", { "pyproject.toml": "pytest", "poetry.lock": "" }, "poetry run pytest -q"],
  ["python without pytest", { "pyproject.toml": "[project]\n" }, null],
  ["composer", { "composer.json": '{"scripts":{"test":"phpunit"}}' }, "composer test"],
  [
    "placeholder and make",
    { "package.json": npm("no test specified"), Makefile: "test:\n" },
    "make test",
  ],
  ["nothing", {}, null],
])("%s", (_, files, command) => {
  expect(found(files)).toBe(command);
});

test.each<[Record<string, string>, string | undefined]>([
  [{ "package.json": npm("x"), "package-lock.json": "" }, "npm ci"],
  [{ "package.json": npm("x") }, undefined],
  // A lockfile that it made would be committed with the task's work.
  [
    { "package.json": '{"scripts":{"test":"x"},"devDependencies":{"x":"1"}}' },
    "npm install --no-package-lock",
  ],
  [{ "pyproject.toml": "pytest", "uv.lock": "" }, "uv sync"],
  [{ "pyproject.toml": "pytest" }, undefined],
])("%j: a fresh checkout needs %s", (files, setup) => {
  expect(findTestCommand((name) => files[name] ?? null)?.setup).toBe(setup);
});
