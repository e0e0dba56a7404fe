import type { Command } from "../../operation/command.ts";
import { plain, type Term } from "../../operation/term.ts";
import { paintState } from "../../queue/cli/paint.ts";
import { tree } from "../operations/tree.ts";

interface Node {
  id: string;
  type: string | null;
  state: string | null;
  children: Node[];
}

export const command: Command = {
  op: tree,
  positionals: [{ key: "id" }],
  examples: [
    ["viv tree", "all tasks that enqueued others, with what they enqueued"],
    ["viv tree t.1", "the whole family of one task"],
  ],
  human: ({ families, more }: { families: Node[]; more: number }, term) => {
    const lines: string[] = [];
    for (const family of families) draw(family, "", "", lines, term);
    if (more > 0) lines.push(term.color.dim(`and ${more} more; see --limit`));
    if (lines.length === 0) lines.push(term.color.dim("no task has enqueued another"));
    return lines.join("\n");
  },
};

function draw(root: Node, first: string, rest: string, lines: string[], term: Term): void {
  const open = [{ node: root, first, rest }];
  for (let top = open.pop(); top !== undefined; top = open.pop()) {
    const { id, type, state, children } = top.node;
    const kind = type === null ? "" : term.color.dim(` (${plain(type)})`);
    lines.push(
      `${top.first}${id}${kind} ${state === null ? term.color.dim("gone") : paintState(state as never, term)}`,
    );
    const below = children.map((node, i) => {
      const isLast = i === children.length - 1;
      return {
        node,
        first: `${top.rest}${isLast ? "└─ " : "├─ "}`,
        rest: `${top.rest}${isLast ? "   " : "│  "}`,
      };
    });
    open.push(...below.reverse());
  }
}
