import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readTable } from "../../base/config-table.ts";
import { MEMBER_FIELDS } from "../../crew/member-definition.ts";
import { readSections } from "../config.ts";
import { knownKeys } from "./known-keys.ts";
import { configSchema, type Schema } from "./schema.ts";
import { wordsFor } from "./words.ts";

type Document = Record<string, unknown>;

const schema = configSchema();
const problemsIn = (document: Document) => readTable(document, readSections).problems;
const unknownIn = (document: Document) =>
  problemsIn(document).filter(({ message }) => /^unknown (?:key|table) /.test(message));

/** Every table of the schema with its keys, by the path to it; `x` stands for a name. */
function* tables(node: Schema, path: string[] = []): Generator<{ path: string[]; node: Schema }> {
  for (const form of node.anyOf ?? [node]) {
    if (form.type !== "object") continue;
    yield { path, node: form };
    for (const [key, inner] of Object.entries(form.properties ?? {})) {
      yield* tables(inner, [...path, key]);
    }
    const { additionalProperties: named } = form;
    if (typeof named === "object") yield* tables(named, [...path, "x"]);
  }
}

/** A document in which all readers read the table at `path`. */
function reaching(path: readonly string[], table: Document): Document {
  const inner = path.reduceRight<Document>((value, key) => ({ [key]: value }), table);
  if (path[0] !== "handlers" || path.length < 2) return inner;
  const route = (inner.handlers as { x: Document }).x;
  return { handlers: { x: { engine: "llm", ...route } } };
}

describe("the schema of viv.toml", () => {
  const all = [...tables(schema)];
  const names = [...new Set(all.flatMap(({ node }) => Object.keys(node.properties ?? {})))];

  it("knows a key in a table exactly where the parser does", () => {
    const strict = all.filter(({ node }) => node.additionalProperties === false);
    expect(strict.length).toBeGreaterThan(15);
    for (const { path, node } of strict) {
      for (const name of [...names, "nonsense"]) {
        const document = reaching(path, { [name]: path[0] === "engines" ? {} : 1 });
        const isRefused = [...unknownIn(document), ...otherName(document)].length > 0;
        const isKnown = Object.hasOwn(node.properties ?? {}, name);
        expect({ path, name, isKnown }).toEqual({ path, name, isKnown: !isRefused });
      }
    }
  });

  /** The parser's word for an engine that it does not know. */
  const otherName = (document: Document) =>
    problemsIn(document).filter(({ message }) => message.startsWith("there is no engine"));

  it("has every key that is read, with words for it", () => {
    const keys = [...knownKeys().keys()];
    expect(keys.length).toBeGreaterThan(90);
    expect(keys.filter((key) => wordsFor(key) === undefined)).toEqual([]);
    const fields = MEMBER_FIELDS.map((name) => `crew.*.${name.toLowerCase().replaceAll("-", "_")}`);
    expect(fields.filter((key) => wordsFor(key) === undefined)).toEqual([]);
  });

  /** Values that fit, and some that do not. */
  const valueFor = (node: Schema): fc.Arbitrary<unknown> => {
    const forms = node.anyOf ?? [node];
    return fc.oneof(...forms.map(formValue), fc.constantFrom<unknown>(7, "x", true, [], ["x"]));
  };
  const formValue = (node: Schema): fc.Arbitrary<unknown> => {
    if (node.enum) return fc.constantFrom(...node.enum);
    switch (node.type) {
      case "object":
        return documentFor(node);
      case "array":
        return fc.array(valueFor(node.items ?? {}), { maxLength: 2 });
      case "boolean":
        return fc.boolean();
      case "integer":
      case "number":
        return fc.integer({ min: node.minimum ?? 0, max: node.maximum ?? 1000 });
      default:
        return fc.constantFrom("x", "10s", "5MB", "http://localhost/v1");
    }
  };
  const documentFor = (node: Schema): fc.Arbitrary<Document> => {
    const own = Object.fromEntries(
      Object.entries(node.properties ?? {}).map(([key, inner]) => [key, valueFor(inner)]),
    );
    const record = fc.record(own, { requiredKeys: [] }) as fc.Arbitrary<Document>;
    const { additionalProperties: named } = node;
    if (typeof named !== "object") return record;
    // Beside keys of its own, a name without a table is taken for one of them, misspelt.
    const value = Object.keys(own).length > 0 ? formValue(named) : valueFor(named);
    const more = fc.dictionary(fc.constantFrom("a", "b", "default"), value, { maxKeys: 2 });
    return fc.tuple(record, more).map(([first, second]) => ({ ...second, ...first }));
  };

  it("allows no key that the parser does not know, in any document", () => {
    fc.assert(
      fc.property(documentFor(schema), (document) => {
        expect(unknownIn(document)).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  it("has the form that editors need", () => {
    expect(schema).toMatchObject({
      $schema: "http://json-schema.org/draft-07/schema#",
      additionalProperties: false,
      properties: {
        run: { type: "string", description: expect.any(String) },
        handlers: {
          additionalProperties: {
            properties: {
              timeout: { description: "time limit of one attempt (default: none)" },
              workspace: { enum: ["none", "dir", "worktree"] },
              max_attempts: { type: "integer", minimum: 1, maximum: 1000 },
            },
          },
        },
        notify: {
          items: {
            properties: {
              on: { type: "array", items: { enum: expect.arrayContaining(["review"]) } },
            },
          },
        },
      },
    });
  });
});
