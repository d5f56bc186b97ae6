// The window on a diagram: how large it is drawn, and which part is seen. Moved by scrolling, by dragging, and with
// Ctrl and the wheel.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { RefObject } from "preact";

/** Space around the drawing, in its own units. */
export const MARGIN = 16;
const LEAST = 0.05;
const MOST = 2;
/** Pixels that the pointer moves before a press is a drag. */
const SLOP = 4;
/** Pixels of a line, for wheels that count lines. */
const LINE = 16;

interface Size {
  width: number;
  height: number;
}

export interface Viewport {
  frame: RefObject<HTMLDivElement>;
  scale: number;
  /** Draws it so many times larger, with the middle where it is. */
  zoom: (factor: number) => void;
  /** Shows all of it. */
  fit: () => void;
  /** Brings a point of the drawing to the middle, drawn at least so large. */
  reveal: (x: number, y: number, least: number) => void;
  /** For the frame. */
  events: {
    onWheel: (event: WheelEvent) => void;
    onPointerDown: (event: PointerEvent) => void;
    onPointerMove: (event: PointerEvent) => void;
    onPointerUp: (event: PointerEvent) => void;
    onPointerCancel: (event: PointerEvent) => void;
    onClickCapture: (event: MouseEvent) => void;
    onDragStart: (event: Event) => void;
  };
}

interface Drag {
  x: number;
  y: number;
  left: number;
  top: number;
  moved: boolean;
}

export function useViewport(drawing: Size, first: number): Viewport {
  const frame = useRef<HTMLDivElement>(null);
  const [scale, setScale] = useState(first);
  // Several turns of the wheel may come before the page is drawn again.
  const wanted = useRef(first);
  /** A point of the drawing, and where in the frame it is to be once it is drawn. */
  const anchor = useRef<{ x: number; y: number; left: number; top: number } | null>(null);
  const drag = useRef<Drag | null>(null);
  const dragged = useRef(false);
  /** What is under the pointer while the wheel zooms: at the edges of a small drawing it cannot stay there at once. */
  const held = useRef<{ left: number; top: number; x: number; y: number } | null>(null);

  const scroll = () => {
    const [box, point] = [frame.current, anchor.current];
    anchor.current = null;
    if (!box || !point) return;
    box.scrollLeft = (point.x + MARGIN) * scale - point.left;
    box.scrollTop = (point.y + MARGIN) * scale - point.top;
  };
  useLayoutEffect(scroll);

  const change = (next: number, point: NonNullable<typeof anchor.current>) => {
    held.current = null;
    wanted.current = Math.min(Math.max(next, LEAST), MOST);
    anchor.current = point;
    setScale(wanted.current);
    // Nothing is drawn again then, so nothing would scroll before the next change of something else.
    if (wanted.current === scale) scroll();
  };
  /** What is drawn at a place of the frame. */
  const at = (left: number, top: number) => {
    const box = frame.current!;
    return { x: (box.scrollLeft + left) / scale - MARGIN, y: (box.scrollTop + top) / scale - MARGIN, left, top };
  };
  const zoom = (factor: number) => {
    const box = frame.current!;
    change(wanted.current * factor, at(box.clientWidth / 2, box.clientHeight / 2));
  };
  const fit = () => {
    const box = frame.current!;
    // The frame is as high as what is in it, up to its bound.
    const bound = Number.parseFloat(getComputedStyle(box).maxHeight) || box.clientHeight;
    const next = Math.min(box.clientWidth / (drawing.width + 2 * MARGIN), (bound - 2) / (drawing.height + 2 * MARGIN), 1);
    change(next, { x: -MARGIN, y: -MARGIN, left: 0, top: 0 });
  };
  const reveal = (x: number, y: number, least: number) => {
    const box = frame.current!;
    const point = { x, y, left: box.clientWidth / 2, top: box.clientHeight / 2 };
    if (scale >= least) box.scrollTo((x + MARGIN) * scale - point.left, (y + MARGIN) * scale - point.top);
    else change(least, point);
  };

  const onWheel = (event: WheelEvent) => {
    if (!event.ctrlKey && !event.metaKey) {
      held.current = null;
      return;
    }
    event.preventDefault();
    const box = frame.current!.getBoundingClientRect();
    const [left, top] = [event.clientX - box.left, event.clientY - box.top];
    const turned = event.deltaY * (event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE : 1);
    const before = held.current;
    const point = before && before.left === left && before.top === top ? before : at(left, top);
    change(wanted.current * Math.exp(-turned / 400), point);
    held.current = point;
  };
  const onPointerDown = (event: PointerEvent) => {
    // Fingers scroll as they do everywhere.
    if (event.pointerType === "touch" || event.button !== 0) return;
    dragged.current = false;
    const box = frame.current!;
    drag.current = { x: event.clientX, y: event.clientY, left: box.scrollLeft, top: box.scrollTop, moved: false };
  };
  const onPointerMove = (event: PointerEvent) => {
    const [box, from] = [frame.current!, drag.current];
    if (!from) return;
    if (event.buttons === 0) {
      // It was let go outside of the frame.
      drag.current = null;
      return;
    }
    const [x, y] = [event.clientX - from.x, event.clientY - from.y];
    if (!from.moved && Math.hypot(x, y) < SLOP) return;
    if (!from.moved) box.setPointerCapture(event.pointerId);
    from.moved = true;
    box.scrollTo(from.left - x, from.top - y);
  };
  const onPointerUp = () => {
    dragged.current = drag.current?.moved ?? false;
    drag.current = null;
  };
  // The end of a drag opens no table.
  const onClickCapture = (event: MouseEvent) => {
    if (!dragged.current) return;
    dragged.current = false;
    event.preventDefault();
    event.stopPropagation();
  };
  const onDragStart = (event: Event) => event.preventDefault();
  return { frame, scale, zoom, fit, reveal, events: { onWheel, onPointerDown, onPointerMove, onPointerUp, onPointerCancel: onPointerUp, onClickCapture, onDragStart } };
}
