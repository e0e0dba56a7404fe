import { useMemo } from "preact/hooks";
import { type Block, parseMarkdown } from "./markdown.ts";
import type { Inline } from "./markdown-inline.ts";
import "./markdown.css";

/** What a program wrote as Markdown. It becomes elements of ours, never HTML. */
export function Markdown({ text }: { text: string }) {
  const blocks = useMemo(() => parseMarkdown(text), [text]);
  return <div class="markdown">{blocks.map(drawBlock)}</div>;
}

function drawBlock(block: Block, key: number) {
  switch (block.kind) {
    case "heading":
      return (
        <p
          key={key}
          class={`h h${block.level}`}
          role="heading"
          aria-level={Math.min(6, block.level + 2)}
        >
          {block.children.map(drawInline)}
        </p>
      );
    case "paragraph":
      return <p key={key}>{block.children.map(drawInline)}</p>;
    case "code":
      return (
        <pre key={key} class="term" tabIndex={0}>
          {block.text}
        </pre>
      );
    case "quote":
      return <blockquote key={key}>{block.children.map(drawBlock)}</blockquote>;
    case "rule":
      return <hr key={key} />;
    case "table":
      return drawTable(block, key);
    case "list": {
      const items = block.items.map(({ checked, children }, at) => (
        <li key={at} class={checked === null ? undefined : "is-box"}>
          {checked !== null && (
            <input
              type="checkbox"
              checked={checked}
              disabled
              aria-label={checked ? "done" : "open"}
            />
          )}
          {children.map(drawBlock)}
        </li>
      ));
      return block.isOrdered ? (
        <ol key={key} start={block.start}>
          {items}
        </ol>
      ) : (
        <ul key={key}>{items}</ul>
      );
    }
  }
}

function drawTable({ head, rows, align }: Extract<Block, { kind: "table" }>, key: number) {
  return (
    <div key={key} class="table" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {head.map((cell, at) => (
              <th key={at} style={{ textAlign: align[at] }}>
                {cell.map(drawInline)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, y) => (
            <tr key={y}>
              {row.map((cell, x) => (
                <td key={x} style={{ textAlign: align[x] }}>
                  {cell.map(drawInline)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function drawInline(node: Inline, key: number) {
  switch (node.kind) {
    case "text":
      return node.text;
    case "break":
      return <br key={key} />;
    case "code":
      return <code key={key}>{node.text}</code>;
    case "strong":
      return <b key={key}>{node.children.map(drawInline)}</b>;
    case "em":
      return <em key={key}>{node.children.map(drawInline)}</em>;
    case "del":
      return <del key={key}>{node.children.map(drawInline)}</del>;
    case "link":
      return node.href === null ? (
        <span key={key}>{node.children.map(drawInline)}</span>
      ) : (
        <a
          key={key}
          href={node.href}
          title={node.href}
          target="_blank"
          rel="noopener noreferrer nofollow"
        >
          {node.children.map(drawInline)}
        </a>
      );
  }
}
