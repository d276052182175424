import { type HostTensor, MpError, tensor } from "@mp/core";
import { type Check, path as checkPath, integer, oneOf, optional, optionsCheck } from "../check-arguments.js";
import { parseError, reasonOf } from "../errors.js";
import { loadReader } from "../load-reader.js";
import { readRange, sizeOfFile } from "../regular-file.js";

export interface ImageSize {
  readonly height: number;
  readonly width: number;
  /** 3 for RGB (default), or 1 for gray. */
  readonly channels?: 1 | 3;
  /**
   * How to fit an image of other proportions: `cover` (default) crops its ends and keeps the middle; `fill` stretches
   * it, as Keras and torchvision do, so that boxes scaled with it stay valid.
   */
  readonly fit?: "cover" | "fill";
  /**
   * Whether to apply the EXIF orientation: `upright` (default) does; `stored` keeps the pixels as in the file, to
   * which boxes refer.
   */
  readonly orientation?: "upright" | "stored";
}

/** Largest number of pixels, 8192 × 8192; larger pictures are refused before decoding. */
const MOST_PIXELS = 2 ** 26;
const side = integer(1, 4096);
/** Checks of `ImageSize`, also for functions with more options. */
export const imageSizeChecks: Parameters<typeof optionsCheck<ImageSize>>[0] = {
  height: side,
  width: side,
  channels: optional(oneOf(1, 3)),
  fit: optional(oneOf("cover", "fill")),
  orientation: optional(oneOf("upright", "stored")),
};
export const checkImageSize: Check = optionsCheck<ImageSize>(imageSizeChecks, "{ height: 32, width: 32 }");

/** First bytes of the accepted formats. The decoder knows more formats, some of which run code. */
const formats: readonly (readonly [offset: number, bytes: string])[] = [
  [0, "\xff\xd8\xff"],
  [0, "\x89PNG\r\n\x1a\n"],
  [8, "WEBP"],
];

/** The part of sharp that is used. */
interface Decoder {
  flatten(): Decoder;
  resize(width: number, height: number, options: { fit: string; kernel: string }): Decoder;
  toColorspace(name: string): Decoder;
  raw(): Decoder;
  toBuffer(options: { resolveWithObject: true }): Promise<{ data: Buffer; info: { channels: number } }>;
}
type Sharp = (image: string | Uint8Array, options: Readonly<Record<string, unknown>>) => Decoder;

/**
 * Reads one JPEG, PNG or WebP image, from a path or its bytes, turns it upright unless asked otherwise, and scales it:
 * u8 [channels, height, width]. The package sharp decodes it, on threads of its own.
 * @throws MP_BACKEND_UNAVAILABLE without sharp, MP_IO for a file that cannot be read, MP_PARSE for one that is not a
 *   picture, is damaged or has more than 2^26 pixels, MP_INVALID_ARGUMENT for a size outside 1 … 4096 and other
 *   invalid options
 */
export async function readImage(image: string | Uint8Array, size: ImageSize): Promise<HostTensor<"u8">> {
  const isBytes = image instanceof Uint8Array;
  if (!isBytes) checkPath("readImage: the image, if it is not a Uint8Array,", image);
  checkImageSize("readImage", size);
  const { height, width, channels = 3, fit = "cover", orientation = "upright" } = size;
  // With the name in a variable, only programs that read pictures need the package's types.
  const name = "sharp";
  const { default: sharp }: { default: Sharp } = await loadReader(
    "readImage: a picture",
    name,
    () => import(name),
  );
  const called = isBytes ? "readImage: the image" : image;
  expectPicture(called, isBytes ? image : await readRange(image, 0, Math.min(12, await sizeOfFile(image))));
  try {
    const { data, info } = await sharp(image, {
      failOn: "error",
      limitInputPixels: MOST_PIXELS,
      autoOrient: orientation === "upright",
    })
      .flatten()
      .resize(width, height, { fit, kernel: "lanczos3" })
      .toColorspace(channels === 1 ? "b-w" : "srgb")
      .raw()
      .toBuffer({ resolveWithObject: true });
    return tensor(byChannel(data, info.channels, channels), [channels, height, width]);
  } catch (cause) {
    if (MpError.is(cause)) throw cause;
    throw parseError(
      called,
      `cannot be decoded, ${reasonOf(cause)}; save it again or leave it out`,
      0,
      cause,
    );
  }
}

/** Reorders interleaved pixels to one plane per channel. A gray source has one channel in any color space. */
function byChannel(data: Uint8Array, found: number, wanted: number): Uint8Array<ArrayBuffer> {
  const pixels = data.length / found;
  const out = new Uint8Array(wanted * pixels);
  for (let channel = 0; channel < wanted; channel++) {
    const source = Math.min(channel, found - 1);
    for (let pixel = 0; pixel < pixels; pixel++)
      out[channel * pixels + pixel] = data[pixel * found + source] ?? 0;
  }
  return out;
}

function expectPicture(called: string, bytes: Uint8Array): void {
  const text = Buffer.from(bytes.subarray(0, 12)).toString("latin1");
  if (formats.some(([offset, first]) => text.startsWith(first, offset))) return;
  throw parseError(called, "begins like no JPEG, PNG or WebP file, at byte 0; convert it to one of them");
}
