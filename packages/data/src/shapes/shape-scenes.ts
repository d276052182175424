import type { HostTensor } from "@mp/core";
import type { AnnotatedImage, Box, BoxAnnotations, LabeledBox } from "../boxes/annotations.js";
import { integer, optional, optionsCheck } from "../check-arguments.js";
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

export interface ShapeScenesOptions {
  readonly seed: number;
  /** Number of images to train on; default 2000. */
  readonly train?: number;
  /** Number of images to test on; default 400. */
  readonly test?: number;
  /** Height and width in pixels, 32 … 256; default 64. */
  readonly side?: number;
  /** Number of classes, 2 … 5; default 4: disc, triangle, square, star, cross. */
  readonly classes?: number;
  /** Largest number of figures in an image, 1 … 8; each has at least one. Default 4. */
  readonly objects?: number;
  /** From 0 (plain figures) to 1 (faint, small, noisy); default 0.25. */
  readonly difficulty?: number;
}

/** Images and their boxes; `annotations.images[i]` describes image i. */
export interface Scenes {
  /** [examples, 3, side, side] */
  readonly x: HostTensor<"u8">;
  readonly annotations: BoxAnnotations;
}

const checkOptions = optionsCheck<ShapeScenesOptions>(
  {
    ...drawingChecks,
    side: optional(integer(32, 256)),
    classes: optional(integer(2, 5)),
    objects: optional(integer(1, 8)),
  },
  "{ seed: 1 }",
);
/** Keys for the random streams of the two parts, which `shapeImages` with the same seed does not use. */
const PARTS = { train: 2, test: 3 };
/** Number of places to try for a figure before it is left out. */
const ATTEMPTS = 20;

/**
 * Draws pictures of a few figures on a wavy background, as `shapeImages` does, with a tight box around each figure.
 * Boxes of two figures overlap by less than a fifth of the smaller one.
 * @throws MP_INVALID_ARGUMENT for an unknown option, or one out of range
 */
export function shapeScenes(options: ShapeScenesOptions): { readonly train: Scenes; readonly test: Scenes } {
  checkOptions("shapeScenes", options);
  const { seed, train = 2000, test = 400, side = 64, classes = 4, objects = 4, difficulty = 0.25 } = options;
  checkCounts("shapeScenes", side, { train, test });
  const names = OUTLINES.slice(0, classes).map(({ name }) => name);
  const part = (name: keyof typeof PARTS, count: number): Scenes => {
    const images: AnnotatedImage[] = [];
    const drawing = { seed, part: PARTS[name], side, noise: 0.01 + 0.1 * difficulty };
    const x = drawPictures(drawing, count, (canvas, stream, index) => {
      const boxes = paint(canvas, stream, { classes, objects, difficulty });
      images.push({ file: `${name}-${index}`, width: side, height: side, boxes });
    });
    return { x, annotations: { images, classes: names, dropped: [] } };
  };
  return { train: part("train", train), test: part("test", test) };
}

function paint(
  canvas: Canvas,
  stream: RandomStream,
  { classes, objects, difficulty }: Readonly<Record<"classes" | "objects" | "difficulty", number>>,
): LabeledBox[] {
  const { side } = canvas;
  const ground = groundColor(stream);
  paintGround(canvas, stream, ground);
  const boxes: LabeledBox[] = [];
  drawScraps(canvas, stream, 8 * difficulty);
  const wanted = 1 + stream.integer(objects);
  for (let object = 0; object < wanted; object++) {
    const label = stream.integer(classes);
    const radius = between(stream, 0.11, 0.24) * side;
    const place = findPlace(stream, side, radius, boxes);
    const color = figureColor(stream, ground, difficulty);
    const figure = {
      style: drawStyle(stream),
      turn: between(stream, 0, 2 * Math.PI),
      stretch: between(stream, 1 - 0.2 * difficulty, 1 + 0.2 * difficulty),
    };
    if (place === undefined) continue;
    const extent = drawFigure(canvas, { ...figure, ...place, distance: findOutline(label), radius, color });
    if (extent === undefined) continue;
    const box: Box = [extent.left, extent.top, extent.right + 1, extent.bottom + 1];
    boxes.push({ label, box, isIgnored: false });
  }
  return boxes;
}

/** Finds a center for which the figure is inside the image and apart from others; undefined if none was found. */
function findPlace(
  stream: RandomStream,
  side: number,
  radius: number,
  boxes: readonly LabeledBox[],
): { readonly x: number; readonly y: number } | undefined {
  const reach = 1.1 * radius;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const x = between(stream, reach, side - 1 - reach);
    const y = between(stream, reach, side - 1 - reach);
    const box: Box = [x - reach, y - reach, x + reach, y + reach];
    if (boxes.every((other) => overlap(box, other.box) < 0.1)) return { x, y };
  }
  return undefined;
}

/** The area that two boxes share, relative to the smaller one. */
function overlap(a: Box, b: Box): number {
  const width = Math.min(a[2], b[2]) - Math.max(a[0], b[0]);
  const height = Math.min(a[3], b[3]) - Math.max(a[1], b[1]);
  const area = (box: Box): number => (box[2] - box[0]) * (box[3] - box[1]);
  return width <= 0 || height <= 0 ? 0 : (width * height) / Math.min(area(a), area(b));
}
