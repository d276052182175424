import { join } from "node:path";
import { tensor } from "@mp/core";
import { path as checkPath } from "../check-arguments.js";
import { checkBytes } from "../data-size.js";
import { ioError, parseError } from "../errors.js";
import { listFiles } from "../list-files.js";
import { readBytes } from "../read-bytes.js";
import { statIfThere } from "../regular-file.js";
import type { ImageSplits, LabeledImages } from "./labeled-images.js";

const SIDE = 32;
const CHANNELS = 3;
const IMAGE_BYTES = CHANNELS * SIDE * SIDE;
const RECORD_BYTES = 1 + IMAGE_BYTES;
const CLASSES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"];

/**
 * Reads CIFAR-10 in its binary version: images [examples, 3, 32, 32] from every `data_batch_N.bin`, and from
 * `test_batch.bin`, in the folder `cifar-10-batches-bin` below the given one, or else in the given one.
 * @throws MP_IO for a missing file, MP_PARSE for a file that is truncated or has labels above 9, MP_INVALID_ARGUMENT for
 *   more than 2 GiB
 */
export async function cifar10(directory: string): Promise<ImageSplits> {
  checkPath("cifar10: directory", directory);
  const inner = join(directory, "cifar-10-batches-bin");
  const folder = (await statIfThere(inner))?.isDirectory() ? inner : directory;
  const names = (await listFiles(folder, [".bin"])).filter((name) => /^data_batch_\d+\.bin$/.test(name));
  if (names.length === 0) {
    throw ioError(folder, "has no data_batch_1.bin; the binary version of CIFAR-10 is needed");
  }
  const train = await records(names.map((name) => join(folder, name)));
  const test = await records([join(folder, "test_batch.bin")]);
  return { train, test, classes: CLASSES };
}

/** Whether the folder has CIFAR-10's first training file. */
export async function isCifar10(directory: string): Promise<boolean> {
  const places = [directory, join(directory, "cifar-10-batches-bin")];
  const found = await Promise.all(places.map((place) => statIfThere(join(place, "data_batch_1.bin"))));
  return found.some((file) => file?.isFile());
}

async function records(paths: readonly string[]): Promise<LabeledImages> {
  const files = await Promise.all(paths.map(readRecords));
  const count = files.reduce((sum, bytes) => sum + bytes.length / RECORD_BYTES, 0);
  checkBytes(`cifar10: ${count} images`, count * IMAGE_BYTES, "use fewer files");
  const x = new Uint8Array(count * IMAGE_BYTES);
  const y = new Int32Array(count);
  let place = 0;
  for (const [file, bytes] of files.entries()) {
    for (let offset = 0; offset < bytes.length; offset += RECORD_BYTES, place++) {
      const label = bytes[offset] ?? 0;
      if (label >= CLASSES.length) {
        const text = `label ${label} at byte ${offset}, expected 0 to 9; is it CIFAR-100?`;
        throw parseError(paths[file] ?? "", text, offset);
      }
      y[place] = label;
      x.set(bytes.subarray(offset + 1, offset + RECORD_BYTES), place * IMAGE_BYTES);
    }
  }
  return { x: tensor(x, [count, CHANNELS, SIDE, SIDE]), y: tensor(y) };
}

function readRecords(path: string): Promise<Uint8Array> {
  return readBytes(path, (_, fileBytes) => {
    const rest = fileBytes % RECORD_BYTES;
    if (fileBytes > 0 && rest === 0) return fileBytes;
    throw parseError(
      path,
      `${fileBytes} bytes are no whole number of records of ${RECORD_BYTES}, the last one starts at byte ${fileBytes - rest}; download the binary version again`,
      fileBytes - rest,
    );
  });
}
