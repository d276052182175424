import type { Point, Stroke } from "../digits/stroke.js";

/** A canvas to draw on with mouse, pen or finger. */
export class Paper {
  readonly #canvas: HTMLCanvasElement;
  readonly #onDrawn: (strokes: readonly Stroke[]) => void;
  #strokes: Point[][] = [];
  /** Whether the drawing is not by hand, so that the first stroke of a hand replaces it. */
  #isShown = false;

  /** @param onDrawn is called with the whole drawing whenever it has changed */
  constructor(canvas: HTMLCanvasElement, onDrawn: (strokes: readonly Stroke[]) => void) {
    this.#canvas = canvas;
    this.#onDrawn = onDrawn;
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      if (this.#isShown) this.#strokes = [];
      this.#isShown = false;
      this.#strokes.push([this.#place(event)]);
      this.#update();
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!canvas.hasPointerCapture(event.pointerId)) return;
      this.#strokes.at(-1)?.push(this.#place(event));
      this.#update();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#draw());
  }

  /** Replaces the drawing; places are in the unit square. */
  show(strokes: readonly Stroke[]): void {
    this.#strokes = strokes.map((stroke) => [...stroke]);
    this.#isShown = true;
    this.#update();
  }

  #update(): void {
    this.#draw();
    this.#onDrawn(this.#strokes);
  }

  #place({ clientX, clientY }: PointerEvent): Point {
    const { left, top, width, height } = this.#canvas.getBoundingClientRect();
    return { x: (clientX - left) / width, y: (clientY - top) / height };
  }

  #draw(): void {
    const { width, height } = this.#canvas;
    const context = this.#canvas.getContext("2d");
    if (context === null) return;
    context.clearRect(0, 0, width, height);
    context.strokeStyle = getComputedStyle(this.#canvas).color;
    context.lineWidth = width / 16;
    context.lineCap = "round";
    context.lineJoin = "round";
    for (const stroke of this.#strokes) {
      context.beginPath();
      // A dot is a line of no length, which round ends make visible.
      for (const { x, y } of [...stroke.slice(0, 1), ...stroke]) context.lineTo(x * width, y * height);
      context.stroke();
    }
  }
}
