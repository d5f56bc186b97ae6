// The little Markdown that answers use, as elements. Text stays text: no markup of it is read, and no link can be followed.
import type { ComponentChildren, VNode } from "preact";
import { visible } from "./format";

const LIST = /^\s*(?:[-*]|\d+[.)])\s+/;
const DIVIDER = /^\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?$/;

export function Markdown({ text }: { text: string }) {
  const lines = visible(text).split("\n");
  const blocks: VNode[] = [];
  while (lines.length > 0) {
    const block = next(lines);
    if (block) blocks.push(block);
  }
  return <div class="prose">{blocks}</div>;
}

/** Takes the lines of one block. */
function next(lines: string[]): VNode | null {
  const first = lines[0]!;
  if (first.trim() === "") {
    lines.shift();
    return null;
  }
  if (first.startsWith("```")) return code(lines);
  if (first.trimStart().startsWith("|") && DIVIDER.test(lines[1]?.trim() ?? "")) return table(lines);
  if (LIST.test(first)) return list(lines);
  const heading = /^#{1,6}\s+(.*)$/.exec(first);
  if (heading) {
    lines.shift();
    return <p class="heading">{inline(heading[1]!)}</p>;
  }
  const own = takeWhile(lines, (line, index) => index === 0 || !(line.trim() === "" || line.startsWith("```") || LIST.test(line) || line.startsWith("|")));
  return <p>{own.flatMap((line, index) => (index ? [<br />, ...inline(line)] : inline(line)))}</p>;
}

function takeWhile(lines: string[], test: (line: string, index: number) => boolean): string[] {
  const end = lines.findIndex((line, index) => !test(line, index));
  return lines.splice(0, end < 0 ? lines.length : end);
}

function code(lines: string[]): VNode {
  lines.shift();
  const own = takeWhile(lines, (line) => !line.startsWith("```"));
  lines.shift();
  return (
    <pre tabIndex={0}>
      <code>{own.join("\n")}</code>
    </pre>
  );
}

function list(lines: string[]): VNode {
  const ordered = /^\s*\d/.test(lines[0]!);
  const own = takeWhile(lines, (line) => LIST.test(line) || /^\s{2,}\S/.test(line));
  const items = own.map((line) => <li>{inline(line.replace(LIST, ""))}</li>);
  return ordered ? <ol>{items}</ol> : <ul>{items}</ul>;
}

function table(lines: string[]): VNode {
  const [head, divider, ...rows] = takeWhile(lines, (line) => line.trimStart().startsWith("|"));
  const right = cells(divider!).map((cell) => cell.endsWith(":"));
  const align = (index: number) => (right[index] ? "right" : undefined);
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Table in the answer">
      <table>
        <thead>
          <tr>{cells(head!).map((cell, index) => <th scope="col" class={align(index)}>{inline(cell)}</th>)}</tr>
        </thead>
        <tbody>
          {rows.map((row) => <tr>{cells(row).map((cell, index) => <td class={align(index)}>{inline(cell)}</td>)}</tr>)}
        </tbody>
      </table>
    </div>
  );
}

function cells(row: string): string[] {
  const inner = row.trim().replace(/^\||(?<!\\)\|$/g, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

/** Text with `code` in it, of one line. */
export function Inline({ text }: { text: string }) {
  return <bdi>{inline(visible(text))}</bdi>;
}

function inline(text: string): ComponentChildren[] {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map((piece) => {
    if (piece.startsWith("`") && piece.length > 2) return <code>{piece.slice(1, -1)}</code>;
    if (piece.startsWith("**") && piece.length > 4) return <strong>{piece.slice(2, -2)}</strong>;
    return piece;
  });
}
