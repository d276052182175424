import { type HostTensor, tensor } from "@mp/core";
import { listOf } from "../check-arguments.js";
import { checkBytes } from "../data-size.js";
import { checkImageSize, type ImageSize, readImage } from "./decode-image.js";

/** Number of files that are decoded at a time, on the decoder's own threads. */
const AT_ONCE = 8;

const checkPaths = listOf("paths", (value) => typeof value === "string" && value !== "");

/**
 * Reads pictures into one array, u8 [pictures, channels, height, width], in the order of the list; see `readImage`.
 * @throws as `readImage`, and MP_INVALID_ARGUMENT for more than 2 GiB at that size
 */
export async function readImageFiles(paths: readonly string[], size: ImageSize): Promise<HostTensor<"u8">> {
  checkPaths("readImageFiles: paths", paths);
  checkImageSize("readImageFiles", size);
  const { height, width, channels = 3 } = size;
  const stride = channels * height * width;
  checkBytes(
    `readImageFiles: ${paths.length} pictures of ${channels}×${height}×${width}`,
    paths.length * stride,
    "ask for a smaller size",
  );
  const x = new Uint8Array(paths.length * stride);
  for (let start = 0; start < paths.length; start += AT_ONCE) {
    const read = await Promise.all(paths.slice(start, start + AT_ONCE).map((path) => readImage(path, size)));
    for (const [index, { data }] of read.entries()) x.set(data, (start + index) * stride);
  }
  return tensor(x, [paths.length, channels, height, width]);
}
