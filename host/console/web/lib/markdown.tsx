// The little Markdown that answers use, as elements. Text stays text: no markup of it is read, and no link can be followed.
import { Component, type ComponentChildren, type VNode } from "preact";
import { visible } from "./format";

/** The indent of an item, its mark and the space behind it. */
const LIST = /^(\s*)([-*]|(\d{1,9})[.)])(\s+)/;
/** A list in a list is read to here; what is deeper stays text. */
const MOST_DEPTH = 10;
const HEADING = /^#{1,6}\s+(.*)$/;
const DIVIDER = /^\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?$/;

/** Blocks that are the same are not read again: each word of an answer would read all that was said before it. */
export function Markdown({ text }: { text: string }) {
  const blocks = blocksOf(visible(text).split("\n"));
  return <div class="prose">{blocks.map((block, index) => <Block key={index} text={block.join("\n")} />)}</div>;
}

function blocksOf(lines: string[]): string[][] {
  const blocks: string[][] = [];
  while (lines.length > 0) {
    const own = take(lines);
    if (own[0]!.trim() !== "") blocks.push(own);
  }
  return blocks;
}

class Block extends Component<{ text: string }> {
  override shouldComponentUpdate(next: { text: string }) {
    return next.text !== this.props.text;
  }

  override render({ text }: { text: string }) {
    return draw(text.split("\n"), 0);
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
  if (LIST.test(first)) return lines.splice(0, endOfList(lines));
  return takeWhile(lines, (line, index) => index === 0 || !(line.trim() === "" || isCode(line) || LIST.test(line) || line.startsWith("|")));
}

function takeWhile(lines: string[], test: (line: string, index: number) => boolean): string[] {
  const end = lines.findIndex((line, index) => !test(line, index));
  return lines.splice(0, end < 0 ? lines.length : end);
}

/** How many lines a list has. It goes on over blank lines, if one of its items or the text of one is behind them. */
function endOfList(lines: string[]): number {
  let end = 0;
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index]!;
    if (LIST.test(line) || /^\s{2,}\S/.test(line)) end = index + 1;
    else if (line.trim() !== "") break;
  }
  return end;
}

/** One block as elements. */
function draw(lines: string[], depth: number): VNode {
  const first = lines[0]!;
  if (isCode(first)) return code(lines);
  if (isTable(lines)) return table(lines);
  if (LIST.test(first) && depth < MOST_DEPTH) return <>{lists(lines, depth)}</>;
  const heading = HEADING.exec(first);
  if (heading) return <p class="heading">{inline(heading[1]!)}</p>;
  return <p>{text(lines)}</p>;
}

const isText = (lines: string[]) => !isCode(lines[0]!) && !isTable(lines) && !LIST.test(lines[0]!) && !HEADING.test(lines[0]!);

const text = (lines: string[]): ComponentChildren[] => lines.flatMap((line, index) => (index ? [<br />, ...inline(line)] : inline(line)));

function code([, ...lines]: string[]): VNode {
  const end = lines.findIndex(isCode);
  return (
    <pre tabIndex={0}>
      <code>{lines.slice(0, end < 0 ? undefined : end).join("\n")}</code>
    </pre>
  );
}

interface Item {
  indent: number;
  /** Where its text begins. */
  inner: number;
  /** Null in a list without numbers. */
  number: number | null;
  lines: string[];
}

function itemsOf(lines: string[]): Item[] {
  const items: Item[] = [];
  for (const line of lines) {
    const last = items[items.length - 1];
    const [whole = "", indent = "", , digits, space = ""] = LIST.exec(line) ?? [];
    if (whole !== "" && (!last || indent.length < last.indent + 2)) {
      const inner = whole.length - space.length + 1;
      items.push({ indent: indent.length, inner, number: digits === undefined ? null : Number(digits), lines: [line.slice(whole.length)] });
    } else last?.lines.push(line.slice(Math.min(last.inner, line.length - line.trimStart().length)));
  }
  return items;
}

/** A list, or several where items with numbers stand beside others. */
function lists(lines: string[], depth: number): VNode[] {
  const groups: Item[][] = [];
  for (const item of itemsOf(lines)) {
    const group = groups[groups.length - 1];
    if (group && (group[0]!.number === null) === (item.number === null)) group.push(item);
    else groups.push([item]);
  }
  return groups.map((group) => list(group, depth));
}

/** The numbers are those that are written. Where each is the same, as some write lists, they are counted from it. */
function list(items: Item[], depth: number): VNode {
  const start = items[0]!.number;
  if (start === null) return <ul>{items.map((item) => <li>{body(item, depth)}</li>)}</ul>;
  const isCounted = items.every(({ number }) => number === start);
  // Years and the like stand beside the text, not beyond its edge.
  const digits = items.reduce((most, { number }) => Math.max(most, String(number).length), 1);
  const style = digits > 2 ? { paddingInlineStart: `${digits + 2}ch` } : undefined;
  return <ol start={start} style={style}>{items.map((item, index) => <li value={isCounted ? start + index : item.number!}>{body(item, depth)}</li>)}</ol>;
}

/** The text of an item, and what is indented below it. */
function body({ lines }: Item, depth: number): ComponentChildren {
  return blocksOf(lines).map((block, index) => (index === 0 && isText(block) ? text(block) : draw(block, depth + 1)));
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
