/** Draws pictures from seeded random streams: first as floats from 0 to 1 in three planes, then as bytes. */
import { type HostTensor, tensor } from "@mp/core";
import { type Check, integer, optional, share } from "../check-arguments.js";
import { MOST_BYTES } from "../data-size.js";
import { type RandomStream, randomStream } from "../random.js";
import type { Distance } from "./outlines.js";

/** Checks of the options that all sets of drawn pictures have. */
export const drawingChecks: Readonly<Record<"seed" | "train" | "test" | "difficulty", Check>> = {
  seed: integer(),
  train: optional(integer(1)),
  test: optional(integer(1)),
  difficulty: optional(share),
};

/** @throws MP_INVALID_ARGUMENT for a number of pictures whose bytes one array cannot hold */
export function checkCounts(what: string, side: number, counts: Readonly<Record<string, number>>): void {
  const check = integer(1, Math.floor(MOST_BYTES / (3 * side * side)));
  for (const [name, count] of Object.entries(counts)) check(`${what}: ${name}`, count);
}

export type Color = readonly [red: number, green: number, blue: number];
type Style = "filled" | "outlined" | "striped";
const STYLES: readonly Style[] = ["filled", "outlined", "striped"];

export const drawStyle = (stream: RandomStream): Style => STYLES[stream.integer(STYLES.length)] as Style;

export interface Canvas {
  readonly side: number;
  /** [3, side, side] */
  readonly light: Float32Array;
}

export interface Figure {
  readonly distance: Distance;
  readonly style: Style;
  /** Center in pixels; `radius` too is in pixels, and `turn` in radians. */
  readonly x: number;
  readonly y: number;
  readonly radius: number;
  readonly turn: number;
  /** Ratio of height to width. */
  readonly stretch: number;
  readonly color: Color;
}

/** A rectangle of pixels, all four sides included. */
export type Extent = Readonly<Record<"left" | "top" | "right" | "bottom", number>>;

export const between = (stream: RandomStream, low: number, high: number): number =>
  low + (high - low) * stream.uniform();

/** Paints the background: a gradient of light with waves across it. */
export function paintGround({ side, light }: Canvas, stream: RandomStream, color: Color): void {
  const waves = Array.from({ length: 3 }, () => wave(side, stream));
  const [slopeX, slopeY] = [between(stream, -0.25, 0.25) / side, between(stream, -0.25, 0.25) / side];
  const [red, green, blue] = color;
  const area = side * side;
  for (let y = 0, index = 0; y < side; y++) {
    for (let x = 0; x < side; x++, index++) {
      let value = slopeX * (x - side / 2) + slopeY * (y - side / 2);
      for (const { sineX, cosineX, sineY, cosineY } of waves) {
        value += at(sineX, x) * at(cosineY, y) + at(cosineX, x) * at(sineY, y);
      }
      light[index] = red + value;
      light[area + index] = green + value;
      light[2 * area + index] = blue + value;
    }
  }
}

const at = (values: Float64Array, index: number): number => values[index] as number;

/** Tables for depth · sin(ax + by + phase) as sin(ax) · cos(by + phase) + cos(ax) · sin(by + phase). */
function wave(side: number, stream: RandomStream) {
  const angle = between(stream, 0, 2 * Math.PI);
  const pitch = between(stream, 0.15, 1.2);
  const phase = between(stream, 0, 2 * Math.PI);
  const depth = between(stream, 0.01, 0.07);
  const table = (value: (index: number) => number) =>
    Float64Array.from({ length: side }, (_, index) => value(index));
  const [x, y] = [pitch * Math.cos(angle), pitch * Math.sin(angle)];
  return {
    sineX: table((index) => depth * Math.sin(x * index)),
    cosineX: table((index) => depth * Math.cos(x * index)),
    sineY: table((index) => Math.sin(y * index + phase)),
    cosineY: table((index) => Math.cos(y * index + phase)),
  };
}

/** Draws a figure with soft edges. @returns the extent of pixels that it covers at least half; undefined if none */
export function drawFigure({ side, light }: Canvas, figure: Figure): Extent | undefined {
  const { distance, style, radius, turn, stretch, color } = figure;
  const [cosine, sine] = [Math.cos(turn), Math.sin(turn)];
  const reach = radius * Math.max(1, stretch) * 1.5 + 1;
  const first = (center: number): number => Math.max(0, Math.floor(center - reach));
  const last = (center: number): number => Math.min(side - 1, Math.ceil(center + reach));
  const halfLine = Math.max(0.8, 0.13 * radius);
  let [left, top, right, bottom] = [side, side, -1, -1];
  for (let y = first(figure.y); y <= last(figure.y); y++) {
    for (let x = first(figure.x); x <= last(figure.x); x++) {
      const [dx, dy] = [(x - figure.x) / radius, (y - figure.y) / radius];
      const along = cosine * dx + sine * dy;
      const across = (cosine * dy - sine * dx) / stretch;
      const far = distance(along, across) * radius;
      const edge = style === "filled" || style === "striped" ? far : Math.abs(far + halfLine) - halfLine;
      const cover = Math.min(1, Math.max(0, 0.5 - edge));
      if (cover === 0) continue;
      // Only the inside is striped, so that the outline stays in one piece.
      const share = style === "striped" && far < -1.5 ? 0.5 + 0.5 * Math.sin(9 * across + 5) : 1;
      for (let channel = 0; channel < 3; channel++) {
        const index = (channel * side + y) * side + x;
        const under = light[index] as number;
        light[index] = under + cover * share * ((color[channel] as number) - under);
      }
      if (far > 0) continue;
      left = Math.min(left, x);
      right = Math.max(right, x);
      top = Math.min(top, y);
      bottom = Math.max(bottom, y);
    }
  }
  return right < left ? undefined : { left, top, right, bottom };
}

/** Half the width of a stroke, in pixels. */
const STROKE = 0.7;
/** Radius of a dot, in pixels. */
const DOT = 1.2;
/** Half the side of the square in which a stroke or dot is drawn, in pixels. */
const SCRAP_REACH = 8;

/** Draws short strokes and dots as a distraction, any number up to `most`. */
export function drawScraps(canvas: Canvas, stream: RandomStream, most: number): void {
  for (let left = Math.round(most * stream.uniform()); left > 0; left--) drawScrap(canvas, stream);
}

function drawScrap(canvas: Canvas, stream: RandomStream): void {
  const color: Color = [stream.uniform(), stream.uniform(), stream.uniform()];
  const isDot = stream.integer(3) === 0;
  const half = isDot ? 0 : between(stream, 2, 6);
  const width = isDot ? DOT : STROKE;
  drawFigure(canvas, {
    distance: (x, y) => {
      const beyond = Math.max(0, Math.abs(x) * SCRAP_REACH - half);
      const beside = y * SCRAP_REACH;
      return (Math.sqrt(beyond * beyond + beside * beside) - width) / SCRAP_REACH;
    },
    style: "filled",
    x: stream.uniform() * canvas.side,
    y: stream.uniform() * canvas.side,
    radius: SCRAP_REACH,
    turn: between(stream, 0, Math.PI),
    stretch: 1,
    color,
  });
}

/**
 * Draws pictures, each from a random stream of its own with the keys `seed`, `part` and the picture's index.
 * @returns bytes [count, 3, side, side], with noise of the standard deviation `noise`, where 1 is the full range
 */
export function drawPictures(
  { seed, part, side, noise }: Readonly<Record<"seed" | "part" | "side" | "noise", number>>,
  count: number,
  draw: (canvas: Canvas, stream: RandomStream, index: number) => void,
): HostTensor<"u8"> {
  const light = new Float32Array(3 * side * side);
  const canvas: Canvas = { side, light };
  const x = new Uint8Array(count * light.length);
  // The sum of a draw's four bytes is near enough to a normal number of mean 510 and deviation 147.8.
  const factor = (255 * noise) / 147.8;
  for (let index = 0; index < count; index++) {
    const stream = randomStream(seed, part, index);
    draw(canvas, stream, index);
    for (let at = 0; at < light.length; at++) {
      const draw = stream.uniform() * 2 ** 32;
      const sum = (draw & 255) + ((draw >>> 8) & 255) + ((draw >>> 16) & 255) + (draw >>> 24);
      const value = (light[at] as number) * 255 + (sum - 510) * factor;
      x[index * light.length + at] = value <= 0 ? 0 : value >= 255 ? 255 : Math.round(value);
    }
  }
  return tensor(x, [count, 3, side, side]);
}

/** A color for the background: dark, and never pure gray. */
export function groundColor(stream: RandomStream): Color {
  const tone = between(stream, 0.15, 0.4);
  return [1, 2, 3].map(() => tone + between(stream, -0.12, 0.12)) as unknown as Color;
}

/** A color unlike the background in each channel: darker with probability `difficulty` / 2, else brighter. */
export function figureColor(stream: RandomStream, ground: Color, difficulty: number): Color {
  const contrast = 0.3 - 0.2 * difficulty;
  const sign = stream.uniform() < 0.5 * difficulty ? -1 : 1;
  return ground.map((base) => base + sign * between(stream, contrast, contrast + 0.35)) as unknown as Color;
}
