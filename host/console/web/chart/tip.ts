// What a mark stands for, beside the pointer.
const GAP_PX = 12;

export class Tip {
  #box: HTMLElement | null = null;

  constructor(private readonly chart: HTMLElement) {}

  /** Shows these values; none hides it. */
  show(event: MouseEvent, value: unknown): void {
    this.close();
    if (value === null || value === undefined || value === "" || typeof value !== "object") return;
    const box = document.createElement("div");
    box.className = "chart-tip";
    for (const [name, one] of Object.entries(value)) {
      const line = box.appendChild(document.createElement("div"));
      line.appendChild(document.createElement("span")).textContent = name;
      line.appendChild(document.createElement("b")).textContent = String(one);
    }
    this.chart.append(box);
    const around = this.chart.getBoundingClientRect();
    const [x, y] = [event.clientX - around.left, event.clientY - around.top];
    // On the side with more room, so that it is never cut.
    const left = x > around.width / 2 ? x - box.offsetWidth - GAP_PX : x + GAP_PX;
    const top = Math.min(Math.max(y - box.offsetHeight - GAP_PX, 0), Math.max(around.height - box.offsetHeight, 0));
    box.style.transform = `translate(${Math.max(left, 0)}px, ${top}px)`;
    this.#box = box;
  }

  close(): void {
    this.#box?.remove();
    this.#box = null;
  }
}
