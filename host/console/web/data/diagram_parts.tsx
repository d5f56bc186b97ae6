// The boxes and lines of a diagram. Each is drawn again only if it changes, for there may be hundreds.
import { Component } from "preact";
import { number, visible } from "../lib/format";
import { BOX, type Box } from "./box";

export type Emphasis = "none" | "marked" | "dim";

const cut = (text: string, length: number) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

interface LineProps {
  from: Box;
  to: Box;
  emphasis: Emphasis;
}

export class LineView extends Component<LineProps> {
  override shouldComponentUpdate(next: LineProps) {
    return next.emphasis !== this.props.emphasis || next.from !== this.props.from || next.to !== this.props.to;
  }

  override render({ from, to, emphasis }: LineProps) {
    const forward = from.x > to.x;
    const [x1, y1] = [forward ? from.x : from.x + BOX.width, from.y + BOX.head / 2];
    const [x2, y2] = [forward ? to.x + BOX.width : to.x + (from.x === to.x ? BOX.width : 0), to.y + BOX.head / 2];
    const bend = from.x === to.x ? BOX.gapX * 0.8 : (x2 - x1) / 2;
    return <path class={`line ${emphasis}`} marker-end="url(#arrow)" d={`M${x1} ${y1}C${x1 + bend} ${y1} ${x2 + (from.x === to.x ? bend : -bend)} ${y2} ${x2} ${y2}`} />;
  }
}

interface BoxProps {
  box: Box;
  emphasis: Emphasis;
  address: string;
  open: (address: string) => void;
  mark: (id: string | null) => void;
}

export class BoxView extends Component<BoxProps> {
  override shouldComponentUpdate(next: BoxProps) {
    return next.emphasis !== this.props.emphasis || next.box !== this.props.box;
  }

  onClick = (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    this.props.open(this.props.address);
  };
  // A table that comes under a pointer at rest, because the diagram moved, is not pointed at.
  move = (event: MouseEvent) => {
    if (event.movementX !== 0 || event.movementY !== 0) this.on();
  };
  on = () => this.props.mark(this.props.box.id);
  off = () => this.props.mark(null);

  override render({ box, emphasis, address }: BoxProps) {
    return (
      <g transform={`translate(${box.x} ${box.y})`} class={`box ${emphasis}`}>
        <a href={address} class="table-box" onClick={this.onClick} onMouseMove={this.move} onMouseLeave={this.off} onFocus={this.on} onBlur={this.off}>
          <rect width={BOX.width} height={box.height} rx="8" />
          <text class="name" x="12" y="20">{cut(visible(box.table.name), 24)}</text>
        </a>
        <g class="inner">
          <path class="divider" d={`M0 ${BOX.head}H${BOX.width}`} />
          {box.columns.map((column, index) => (
            <text key={column.name} x="12" y={BOX.head + 17 + index * BOX.row} class={column.isKey ? "key" : column.refers ? "refers" : undefined}>
              {cut(visible(column.name), 26)}
            </text>
          ))}
          {box.more > 0 && <text class="muted" x="12" y={BOX.head + 17 + box.columns.length * BOX.row}>and {number(box.more)} more</text>}
        </g>
      </g>
    );
  }
}
