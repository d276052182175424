import { tensor } from "@mp/core";
import { integer, optional, optionsCheck } from "../check-arguments.js";
import type { ImageSplits, LabeledImages } from "../image/labeled-images.js";
import type { RandomStream } from "../random.js";
import {
  between,
  type Canvas,
  checkCounts,
  drawFigure,
  drawingChecks,
  drawPictures,
  drawScraps,
  drawStyle,
  figureColor,
  groundColor,
  paintGround,
} from "./canvas.js";
import { findOutline, OUTLINES } from "./outlines.js";

export interface ShapeImagesOptions {
  readonly seed: number;
  /** Number of images to train on; default 8000. */
  readonly train?: number;
  /** Number of images to test on; default 2000. */
  readonly test?: number;
  /** Height and width in pixels, 8 … 256; default 32. */
  readonly side?: number;
  /** Number of classes, 2 … 10; default 10. */
  readonly classes?: number;
  /** From 0 (plain figures) to 1 (faint, small, noisy, half hidden); default 0.25. */
  readonly difficulty?: number;
}

const checkOptions = optionsCheck<ShapeImagesOptions>(
  {
    ...drawingChecks,
    side: optional(integer(8, 256)),
    classes: optional(integer(2, OUTLINES.length)),
  },
  "{ seed: 1 }",
);
/** Keys that separate the random streams of the two parts. */
const PARTS = { train: 0, test: 1 };

/**
 * Draws pictures of one figure each (disc, triangle, square, star, cross, oval, pentagon, half disc, crescent,
 * arrow), filled, outlined or striped, rotated, in any color and place, on a wavy background with distractions and
 * noise: bytes [examples, 3, side, side] and the figure's label. An image depends only on seed, part and its own
 * number, so that a smaller set is the beginning of a larger one.
 * @throws MP_INVALID_ARGUMENT for an unknown option, or one out of range
 */
export function shapeImages(options: ShapeImagesOptions): ImageSplits {
  checkOptions("shapeImages", options);
  const { seed, train = 8000, test = 2000, side = 32, classes = 10, difficulty = 0.25 } = options;
  checkCounts("shapeImages", side, { train, test });
  const part = (name: keyof typeof PARTS, count: number): LabeledImages => {
    const y = new Int32Array(count);
    const drawing = { seed, part: PARTS[name], side, noise: 0.01 + 0.12 * difficulty };
    const x = drawPictures(drawing, count, (canvas, stream, index) => {
      y[index] = stream.integer(classes);
      paint(canvas, stream, y[index] as number, difficulty);
    });
    return { x, y: tensor(y) };
  };
  return {
    train: part("train", train),
    test: part("test", test),
    classes: OUTLINES.slice(0, classes).map(({ name }) => name),
  };
}

function paint(canvas: Canvas, stream: RandomStream, label: number, difficulty: number): void {
  const ground = groundColor(stream);
  const color = figureColor(stream, ground, difficulty);
  paintGround(canvas, stream, ground);
  const radius = between(stream, 0.36 - 0.14 * difficulty, 0.42) * canvas.side;
  const room = Math.max(0, canvas.side / 2 - 0.8 * radius);
  drawFigure(canvas, {
    distance: findOutline(label),
    style: drawStyle(stream),
    x: (canvas.side - 1) / 2 + between(stream, -room, room),
    y: (canvas.side - 1) / 2 + between(stream, -room, room),
    radius,
    turn: between(stream, -Math.PI, Math.PI) * difficulty,
    stretch: between(stream, 1 - 0.25 * difficulty, 1 + 0.25 * difficulty),
    color,
  });
  drawScraps(canvas, stream, 10 * difficulty);
}
