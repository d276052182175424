import { parseError } from "../errors.js";

/** A box in pixels from the image's upper left corner: left, top, and the first column and row outside. */
export type Box = readonly [left: number, top: number, right: number, bottom: number];

export interface LabeledBox {
  /** Index into `classes`. */
  readonly label: number;
  readonly box: Box;
  /** Whether an evaluation should ignore the object: it is marked difficult (VOC) or a crowd (COCO). */
  readonly isIgnored: boolean;
}

export interface AnnotatedImage {
  /** The picture's file, relative to the set's folder of images. */
  readonly file: string;
  readonly width: number;
  readonly height: number;
  readonly boxes: readonly LabeledBox[];
}

export interface BoxAnnotations {
  readonly images: readonly AnnotatedImage[];
  /** Names of the classes, by label. */
  readonly classes: readonly string[];
  /** A message for each box that was left out because it has no area in its image. Published sets have a few. */
  readonly dropped: readonly string[];
}

const LARGEST_SIDE = 1 << 16;

/** @throws MP_PARSE for a value that is not the size of an image */
export function checkImageSize(path: string, what: string, width: unknown, height: unknown): void {
  for (const [name, value] of Object.entries({ width, height })) {
    if (Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) <= LARGEST_SIDE) continue;
    throw parseError(
      path,
      `${what}: ${name} must be an integer from 1 to ${LARGEST_SIDE}, got ${String(value)}; correct it or leave the image out`,
    );
  }
}

/** Checks that a name stays inside the folder to which it is relative. @throws MP_PARSE if it does not */
export function checkFileName(path: string, name: unknown): string {
  const isInside =
    typeof name === "string" &&
    name !== "" &&
    !/^([/\\]|[A-Za-z]:)/.test(name) &&
    !name.split(/[/\\]/).includes("..") &&
    !name.includes("\0");
  if (isInside) return name;
  throw parseError(
    path,
    `the image's file must be a name inside its folder, got ${JSON.stringify(name) ?? "none"}; correct it`,
  );
}

const isBox = (value: unknown): value is Box =>
  Array.isArray(value) && value.length === 4 && value.every(Number.isFinite);

/** @throws MP_PARSE for anything but four finite numbers */
export function checkCorners(path: string, what: string, box: unknown): Box {
  if (isBox(box)) return box;
  const got = JSON.stringify(box, (_, value) => (Number.isNaN(value) ? "no number" : value)) ?? "none";
  throw parseError(path, `${what}: a box must be four finite numbers, got ${got}; correct it`);
}

/** Describes a box that was left out: `annotations[3]: [5, 5, 0, 10] has nothing inside 64×32`. */
export function describeDrop(
  what: string,
  box: readonly number[],
  { width, height }: Pick<AnnotatedImage, "width" | "height">,
): string {
  return `${what}: [${box.join(", ")}] has nothing inside ${width}×${height}`;
}

/** Clips a box to its image; undefined if nothing is left, as for a box without area. */
export function clipBox([left, top, right, bottom]: Box, width: number, height: number): Box | undefined {
  const clipped = [
    Math.max(0, left),
    Math.max(0, top),
    Math.min(width, right),
    Math.min(height, bottom),
  ] as const;
  return clipped[0] < clipped[2] && clipped[1] < clipped[3] ? clipped : undefined;
}
