import { readFileSync } from "node:fs";
import { runInNewContext } from "node:vm";

/** What a node gives to the next one. */
type Item = Record<string, unknown>;

interface Node {
  name: string;
  type: string;
  parameters: Record<string, unknown>;
  credentials?: Record<string, { name: string }>;
}

interface Condition {
  leftValue: string;
  rightValue: string;
  operator: { operation: string };
}

interface HttpParameters {
  method: string;
  url: string;
  authentication?: string;
  sendQuery?: boolean;
  queryParameters?: { parameters: { name: string; value: string }[] };
  sendBody?: boolean;
  jsonBody?: string;
  options: { response?: { response: { responseFormat: string; outputPropertyName: string } } };
}

export interface Around {
  /** In the place of http://127.0.0.1:4747. */
  address: string;
  /** The value of the Header Auth credential. */
  authorization: string;
  /** A Wait node: the how-manieth. */
  wait(count: number): Promise<void>;
}

/**
 * Runs a workflow file as n8n does, node by node, for the few kinds of nodes that our examples have.
 * One that it does not know is an error.
 */
export class Workflow {
  readonly nodes: Node[];
  readonly #next: Record<string, { main: { node: string }[][] }>;
  readonly #outputs = new Map<string, Item>();
  readonly visited: string[] = [];

  constructor(path: string) {
    const { nodes, connections } = JSON.parse(readFileSync(path, "utf8"));
    this.nodes = nodes;
    this.#next = connections;
  }

  /** From a node to the last one; its item. */
  async run(start: string, item: Item, around: Around): Promise<Item> {
    let [name, given] = [start, item];
    for (;;) {
      const node = this.nodes.find((one) => one.name === name);
      if (node === undefined) throw new Error(`there is no node ${name}`);
      this.visited.push(name);
      const [output, out] = await this.#execute(node, given, around);
      this.#outputs.set(name, out);
      const following = this.#next[name]?.main[output] ?? [];
      if (following.length === 0) return out;
      [name, given] = [following[0]?.node ?? "", out];
    }
  }

  /** The number of the output, and what goes there. */
  async #execute(node: Node, item: Item, around: Around): Promise<[number, Item]> {
    const { type, parameters } = node;
    switch (type.replace("n8n-nodes-base.", "")) {
      case "manualTrigger":
      case "sseTrigger":
        return [0, item];
      case "wait":
        await around.wait(this.visited.filter((one) => one === node.name).length);
        return [0, item];
      case "httpRequest":
        return [0, await this.#request(node, item, around)];
      case "filter":
        return [this.#holds(parameters.conditions, item) ? 0 : 1, item];
      case "switch": {
        const { values } = parameters.rules as { values: { conditions: unknown }[] };
        const found = values.findIndex(({ conditions }) => this.#holds(conditions, item));
        return [found === -1 ? values.length : found, item];
      }
      case "stopAndError":
        throw new Error(this.#text(parameters.errorMessage, item));
      default:
        throw new Error(`${node.name} is a ${type}, which this stand-in for n8n does not know`);
    }
  }

  async #request(node: Node, item: Item, around: Around): Promise<Item> {
    const given = node.parameters as unknown as HttpParameters;
    const url = new URL(this.#text(given.url, item).replace(STANDARD, around.address));
    if (given.sendQuery)
      for (const { name, value } of given.queryParameters?.parameters ?? [])
        url.searchParams.set(name, this.#text(value, item));
    const headers: Record<string, string> = { accept: "application/json,text/*;q=0.99" };
    if (given.authentication && node.credentials?.httpHeaderAuth)
      headers.authorization = around.authorization;
    if (given.sendBody) headers["content-type"] = "application/json";
    const body = given.sendBody ? this.#text(given.jsonBody, item) : undefined;
    const response = await fetch(url, { method: given.method, headers, body });
    const text = await response.text();
    if (!response.ok) throw new Error(`${node.name}: ${response.status}: ${text}`);
    const wanted = given.options.response?.response;
    if (wanted?.responseFormat === "text") return { [wanted.outputPropertyName]: text };
    return JSON.parse(text);
  }

  #holds(conditions: unknown, item: Item): boolean {
    const { conditions: all } = conditions as { conditions: Condition[] };
    return all.every(({ leftValue, rightValue, operator }) => {
      const left = this.#text(leftValue, item);
      if (operator.operation === "equals") return left === rightValue;
      if (operator.operation === "regex") return new RegExp(rightValue).test(left);
      throw new Error(`there is no operation ${operator.operation} here`);
    });
  }

  /** A parameter that begins with = is a template of expressions. */
  #text(parameter: unknown, item: Item): string {
    const text = String(parameter);
    if (!text.startsWith("=")) return text;
    const known = {
      $json: item,
      $execution: { id: "7" },
      $today: { toISODate: () => "2026-11-18" },
      $: (name: string) => ({ item: { json: this.#outputs.get(name) } }),
    };
    return text
      .slice(1)
      .replaceAll(/\{\{(.*?)\}\}/g, (_, expression) => String(runInNewContext(expression, known)));
  }
}

/** The address in the files. */
const STANDARD = "http://127.0.0.1:4747";
