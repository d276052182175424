import { readFile, stat } from "node:fs/promises";
import { MpError } from "@mp/core";
import { asMpError } from "../read-bytes.js";

/** Pixels from the image's upper left corner: left, top, and the first column and row that are outside. */
export type Box = readonly [left: number, top: number, right: number, bottom: number];

export interface LabelledBox {
  /** Index into the classes. */
  readonly label: number;
  readonly box: Box;
  /** Counts neither for nor against: marked difficult (VOC) or a crowd (COCO). */
  readonly isIgnored: boolean;
}

export interface AnnotatedImage {
  /** The picture's file, relative to the set's folder of images. */
  readonly file: string;
  readonly width: number;
  readonly height: number;
  readonly boxes: readonly LabelledBox[];
}

export interface BoxAnnotations {
  readonly images: readonly AnnotatedImage[];
  /** By label. */
  readonly classes: readonly string[];
  /** Boxes left out since nothing of them lies inside their image; published sets have a few. */
  readonly dropped: number;
}

/** One string holds no more in Node. */
const LONGEST_TEXT = 2 ** 29 - 25;
const LARGEST_SIDE = 1 << 16;

/** @throws MP_IO for a file that cannot be read, MP_PARSE for one that is too long */
export async function readAnnotation(path: string, mostBytes: number = LONGEST_TEXT): Promise<string> {
  try {
    const { size } = await stat(path);
    if (size > mostBytes) throw parseError(path, 0, `has ${size} bytes, the most is ${mostBytes}; split it`);
    return await readFile(path, "utf8");
  } catch (error) {
    throw asMpError(path, error);
  }
}

/** `offset` counts characters where the place is known. */
export function parseError(path: string, offset: number, what: string, cause?: unknown): MpError {
  return new MpError("MP_PARSE", `${path}: ${what}`, { details: { path, offset }, cause });
}

/** @throws MP_PARSE for what is no size of an image */
export function checkImageSize(path: string, what: string, width: unknown, height: unknown): void {
  for (const [name, value] of Object.entries({ width, height })) {
    if (Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) <= LARGEST_SIDE) continue;
    throw parseError(
      path,
      0,
      `${what}: ${name} is an integer of 1 to ${LARGEST_SIDE}, got ${String(value)}; correct it or leave the image out`,
    );
  }
}

/** A name that stays inside the folder that it is relative to. @throws MP_PARSE for one that does not */
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
    0,
    `the image's file is a name inside its folder, got ${JSON.stringify(name) ?? "none"}; correct it`,
  );
}

/** The part of a box inside its image; undefined where there is none. @throws MP_PARSE for coordinates that are no numbers */
export function clipBox(
  path: string,
  what: string,
  box: Box,
  width: number,
  height: number,
): Box | undefined {
  if (!box.every((value) => typeof value === "number" && Number.isFinite(value))) {
    throw parseError(path, 0, `${what}: a box is four finite numbers, got ${box.join(", ")}; correct it`);
  }
  const [left, top, right, bottom] = box;
  const clipped = [
    Math.max(0, left),
    Math.max(0, top),
    Math.min(width, right),
    Math.min(height, bottom),
  ] as const;
  return clipped[0] < clipped[2] && clipped[1] < clipped[3] ? clipped : undefined;
}
