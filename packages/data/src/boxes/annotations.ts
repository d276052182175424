import { readFile } from "node:fs/promises";
import { TextDecoder } from "node:util";
import { parseError } from "../errors.js";
import { asMpError, sizeOfFile } from "../regular-file.js";

/** A box in pixels from the image's upper left corner: left, top, and the first column and row outside. */
export type Box = readonly [left: number, top: number, right: number, bottom: number];

export interface LabeledBox {
  /** Index into `classes`. */
  readonly label: number;
  readonly box: Box;
  /** Whether the object counts neither for nor against: it is marked difficult (VOC) or a crowd (COCO). */
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
  /** Boxes left out because they lie outside their image, with place and reason; published sets have a few. */
  readonly dropped: readonly string[];
}

/** Length of Node's longest string. */
const LONGEST_TEXT = 2 ** 29 - 25;
const LARGEST_SIDE = 1 << 16;

/** Number of bytes in which the encoding's name is searched. */
const HEAD_BYTES = 256;

/**
 * @param encodingOf reads the name of the encoding from the file's first bytes; default UTF-8
 * @throws MP_IO for a file that cannot be read, MP_PARSE for one that is too long or not in its encoding
 */
export async function readAnnotation(
  path: string,
  mostBytes: number = LONGEST_TEXT,
  encodingOf?: (head: string) => string | undefined,
): Promise<string> {
  const size = await sizeOfFile(path);
  if (size > mostBytes) throw parseError(path, `has ${size} bytes, the most is ${mostBytes}; split it`);
  const bytes = await readFile(path).catch((error: unknown) => {
    throw asMpError(path, error);
  });
  const encoding = encodingByMark(bytes) ?? encodingOf?.(bytes.toString("latin1", 0, HEAD_BYTES)) ?? "utf-8";
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch (cause) {
    throw parseError(path, `is not in ${encoding}; convert it to UTF-8, for example with iconv`, 0, cause);
  }
}

/** The encoding that a byte order mark names. */
function encodingByMark([first, second]: Uint8Array): string | undefined {
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : undefined;
}

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
