import { join } from "node:path";
import { type HostTensor, tensor } from "@mp/core";
import { formatShape } from "@mp/core/graph";
import { path as checkPath } from "../check-arguments.js";
import { ioError, parseError } from "../errors.js";
import { statIfThere } from "../regular-file.js";
import { readIdx } from "./idx.js";
import type { ImageSplits, LabeledImages } from "./labeled-images.js";

const DIGITS = 10;

/** File names to look for: the authors' spelling and the one with a dot that archives use, each also gzipped. */
const spellings = (part: string, kind: "images-idx3" | "labels-idx1"): string[] => {
  const names = [`${part}-${kind}-ubyte`, `${part}-${kind.replace("-", ".")}-ubyte`];
  return names.flatMap((name) => [name, `${name}.gz`]);
};

/**
 * Reads MNIST, or a set in the same files such as Fashion-MNIST: images [examples, 1, 28, 28], or of another height
 * and width if the files say so, from `train-images-idx3-ubyte` and the three others, gzipped or not.
 * @throws MP_IO for a missing file, MP_PARSE for a damaged one, for different numbers of images and labels, and for
 *   training and test images of different sizes
 */
export async function mnist(directory: string): Promise<ImageSplits> {
  checkPath("mnist: directory", directory);
  const [train, test] = await Promise.all([part(directory, "train"), part(directory, "t10k")]);
  const [trained, tested] = [train, test].map(({ x }) => formatShape(x.shape.slice(2)));
  if (trained !== tested) {
    throw parseError(
      directory,
      `the images to learn from are ${trained} and those of the test ${tested}, height and width; the files are not of one set`,
      8,
    );
  }
  return { train, test, classes: Array.from({ length: DIGITS }, (_, digit) => String(digit)) };
}

/** Whether the folder has MNIST's training images. */
export const isMnist = async (directory: string): Promise<boolean> =>
  (await find(directory, spellings("train", "images-idx3"))) !== undefined;

async function part(directory: string, name: string): Promise<LabeledImages> {
  const images = await readPart(directory, spellings(name, "images-idx3"), 3);
  const labels = await readPart(directory, spellings(name, "labels-idx1"), 1);
  const [count, height, width] = images.data.shape as [number, number, number];
  if (labels.data.shape[0] !== count) {
    const found = `${labels.data.shape[0]} labels for ${count} images in ${images.path}`;
    throw parseError(labels.path, `has ${found}; the files are not of one set`, 4);
  }
  const y = Int32Array.from(labels.data.data);
  const wrong = y.findIndex((label) => label >= DIGITS);
  if (wrong !== -1)
    throw parseError(labels.path, `label ${y[wrong]} at byte ${8 + wrong}, expected 0 to 9`, 8 + wrong);
  return { x: tensor(images.data.data, [count, 1, height, width]), y: tensor(y) };
}

async function readPart(
  directory: string,
  names: readonly string[],
  rank: number,
): Promise<{ path: string; data: HostTensor<"u8"> }> {
  const path = await find(directory, names);
  if (path === undefined) throw ioError(directory, `has no ${names[0]}, nor that file gzipped`);
  const data = await readIdx(path);
  if (data.dtype === "u8" && data.shape.length === rank) return { path, data };
  throw parseError(
    path,
    `holds ${data.dtype} ${formatShape(data.shape)}, expected bytes of rank ${rank}, as the magic number at byte 0 says`,
  );
}

async function find(directory: string, names: readonly string[]): Promise<string | undefined> {
  for (const name of names) {
    const path = join(directory, name);
    if ((await statIfThere(path)) !== undefined) return path;
  }
  return undefined;
}
