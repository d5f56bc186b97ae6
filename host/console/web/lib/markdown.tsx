// The little Markdown that answers use, as elements. Text stays text: no markup of it is read, and no link can be followed.
import { Component, type ComponentChildren, type VNode } from "preact";
import { visible } from "./format";

const LIST = /^\s*(?:[-*]|\d+[.)])\s+/;
const HEADING = /^#{1,6}\s+(.*)$/;
const DIVIDER = /^\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?$/;

/** Blocks that are the same are not read again: each word of an answer would read all that was said before it. */
export function Markdown({ text }: { text: string }) {
  const lines = visible(text).split("\n");
  const blocks: string[] = [];
  while (lines.length > 0) {
    const own = take(lines);
    if (own[0]!.trim() !== "") blocks.push(own.join("\n"));
  }
  return <div class="prose">{blocks.map((block, index) => <Block key={index} text={block} />)}</div>;
}

class Block extends Component<{ text: string }> {
  override shouldComponentUpdate(next: { text: string }) {
    return next.text !== this.props.text;
  }

  override render({ text }: { text: string }) {
    return draw(text.split("\n"));
  }
}

const isCode = (line: string) => line.startsWith("```");
const isRow = (line: string) => line.trimStart().startsWith("|");
const isTable = (lines: string[]) => isRow(lines[0]!) && DIVIDER.test(lines[1]?.trim() ?? "");

/** Takes the lines of one block. */
function take(lines: string[]): string[] {
  const first = lines[0]!;
  if (first.trim() === "" || HEADING.test(first)) return lines.splice(0, 1);
  if (isCode(first)) return [...takeWhile(lines, (line, index) => index === 0 || !isCode(line)), ...lines.splice(0, 1)];
  // The divider may have no bar of its own.
  if (isTable(lines)) return takeWhile(lines, (line, index) => index < 2 || isRow(line));
  if (LIST.test(first)) return takeWhile(lines, (line) => LIST.test(line) || /^\s{2,}\S/.test(line));
  return takeWhile(lines, (line, index) => index === 0 || !(line.trim() === "" || isCode(line) || LIST.test(line) || line.startsWith("|")));
}

function takeWhile(lines: string[], test: (line: string, index: number) => boolean): string[] {
  const end = lines.findIndex((line, index) => !test(line, index));
  return lines.splice(0, end < 0 ? lines.length : end);
}

/** One block as elements. */
function draw(lines: string[]): VNode {
  const first = lines[0]!;
  if (isCode(first)) return code(lines);
  if (isTable(lines)) return table(lines);
  if (LIST.test(first)) return list(lines);
  const heading = HEADING.exec(first);
  if (heading) return <p class="heading">{inline(heading[1]!)}</p>;
  return <p>{lines.flatMap((line, index) => (index ? [<br />, ...inline(line)] : inline(line)))}</p>;
}

function code([, ...lines]: string[]): VNode {
  const end = lines.findIndex(isCode);
  return (
    <pre tabIndex={0}>
      <code>{lines.slice(0, end < 0 ? undefined : end).join("\n")}</code>
    </pre>
  );
}

function list(lines: string[]): VNode {
  const items = lines.map((line) => <li>{inline(line.replace(LIST, ""))}</li>);
  return /^\s*\d/.test(lines[0]!) ? <ol>{items}</ol> : <ul>{items}</ul>;
}

function table([head, divider, ...rows]: string[]): VNode {
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
