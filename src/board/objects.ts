import { createHash } from "node:crypto";
import { deflateSync } from "node:zlib";
import type { GitObject, NamedObject } from "../platform/git/loose-objects.ts";

type ObjectFormat = "sha1" | "sha256";

export function formatOf(oid: string): ObjectFormat {
  return oid.length === 64 ? "sha256" : "sha1";
}

export function named(object: GitObject, format: ObjectFormat): NamedObject {
  return { ...object, oid: oidOf(object, format) };
}

export function oidOf({ kind, bytes }: GitObject, format: ObjectFormat): string {
  return createHash(format).update(`${kind} ${bytes.length}\0`).update(bytes).digest("hex");
}

const PACK_TYPES: Record<GitObject["kind"], number> = { commit: 1, tree: 2, blob: 3 };

/** Several objects in one pack, so that one git process takes a blob, its trees and its commit. */
export function packOf(objects: readonly GitObject[], format: ObjectFormat): Buffer {
  const head = Buffer.alloc(12);
  head.write("PACK");
  head.writeUInt32BE(2, 4);
  head.writeUInt32BE(objects.length, 8);
  // Not compressed: it goes through a pipe, and git compresses the objects.
  const parts = objects.flatMap((one) => [packHead(one), deflateSync(one.bytes, { level: 0 })]);
  const body = Buffer.concat([head, ...parts]);
  return Buffer.concat([body, createHash(format).update(body).digest()]);
}

function packHead({ kind, bytes }: GitObject): Buffer {
  let rest = Math.floor(bytes.length / 16);
  const head = [(PACK_TYPES[kind] << 4) | (bytes.length & 15)];
  while (rest > 0) {
    head[head.length - 1] = (head.at(-1) as number) | 0x80;
    head.push(rest & 0x7f);
    rest = Math.floor(rest / 128);
  }
  return Buffer.from(head);
}

export interface TreeEntry {
  mode: string;
  oid: string;
  /** Where its oid begins. */
  at: number;
}

export function entryOf(tree: Buffer, name: string, format: ObjectFormat): TreeEntry | null {
  const wanted = Buffer.from(name);
  const size = format === "sha1" ? 20 : 32;
  for (let from = 0; from < tree.length; ) {
    const space = tree.indexOf(0x20, from);
    const end = tree.indexOf(0, space);
    if (space === -1 || end === -1) return null;
    if (tree.subarray(space + 1, end).equals(wanted)) {
      const oid = tree.toString("hex", end + 1, end + 1 + size);
      return { mode: tree.toString("latin1", from, space), oid, at: end + 1 };
    }
    from = end + 1 + size;
  }
  return null;
}

export function treeWith(tree: Buffer, entry: TreeEntry, oid: string): Buffer {
  const copy = Buffer.from(tree);
  copy.write(oid, entry.at, "hex");
  return copy;
}

/** The output of `git cat-file --batch`, in the order of the questions; null: missing. */
export function readBatch(output: Buffer): ({ oid: string; kind: string; bytes: Buffer } | null)[] {
  const found: ReturnType<typeof readBatch> = [];
  for (let from = 0; from < output.length; ) {
    const end = output.indexOf(0x0a, from);
    if (end === -1) break;
    const head = /^([0-9a-f]+) (\w+) (\d+)$/.exec(output.toString("utf8", from, end));
    if (head === null) {
      found.push(null);
      from = end + 1;
      continue;
    }
    const size = Number(head[3]);
    const bytes = output.subarray(end + 1, end + 1 + size);
    found.push({ oid: head[1] as string, kind: head[2] as string, bytes });
    from = end + 1 + size + 1;
  }
  return found;
}
