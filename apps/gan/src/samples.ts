import { type HostTensor, type LossContext, type Tensor, type Tree, tensor } from "@mp/core";
import { randomStream } from "@mp/data";
import sharp from "sharp";
import type { Training } from "./as-one.js";
import type { Networks } from "./model.js";

/** Rows and columns of a sheet. */
const SHEET = 8;
/** A sheet is enlarged to about this side. */
const SIDE = 512;
/** Gives the noise of judged pictures another random stream than other uses of the seed. */
const NOISE = 7;

type Trees = { readonly generator: Tree<Tensor> };

/**
 * Generates `count` pictures in -1 … 1, f32 [count, channels, size, size], with the running statistics; equal for equal
 * seeds.
 */
export async function makePictures(
  training: Training,
  { generator }: Networks,
  { count, noise, seed, batch }: Record<"count" | "noise" | "seed" | "batch", number>,
): Promise<HostTensor<"f32">> {
  const make = (parameters: Trees, { z }: { readonly z: Tensor }, context: LossContext<Trees>): Tensor =>
    generator.apply(parameters.generator, z, {
      ...context,
      modelState: context.modelState.generator,
    })[0];
  const stream = randomStream(seed, NOISE);
  const parts: HostTensor[] = [];
  for (let done = 0; done < count; done += batch) {
    // Generates whole batches, since a smaller one would be compiled separately.
    const z = Float32Array.from({ length: batch * noise }, () => 2 * stream.uniform() - 1);
    parts.push(await training.predict(make, { z: tensor(z, [batch, noise]) }));
  }
  const shape = [count, ...(parts[0]?.shape.slice(1) ?? [])];
  const all = new Float32Array(shape.reduce((a, b) => a * b, 1));
  let at = 0;
  for (const { data } of parts) {
    const values = (data as Float32Array).subarray(0, all.length - at);
    all.set(values, at);
    at += values.length;
  }
  return tensor(all, shape);
}

/** Number of pictures on a sheet. */
export const SHEET_PICTURES: number = SHEET * SHEET;

/** Writes pictures with values in -1 … 1 as one PNG, a sheet of rows. */
export async function writeSheet(path: string, { data, shape }: HostTensor<"f32">): Promise<void> {
  const [count = 0, channels = 1, size = 1] = shape;
  const side = SHEET * size;
  const pixels = new Uint8Array(3 * side * side);
  for (let at = 0; at < Math.min(count, SHEET_PICTURES); at++) {
    const [top, left] = [Math.floor(at / SHEET) * size, (at % SHEET) * size];
    for (let channel = 0; channel < 3; channel++) {
      const plane = (at * channels + Math.min(channel, channels - 1)) * size * size;
      for (let place = 0; place < size * size; place++) {
        const [row, column] = [top + Math.floor(place / size), left + (place % size)];
        const value = 127.5 * ((data[plane + place] ?? 0) + 1);
        pixels[3 * (row * side + column) + channel] = Math.round(Math.min(255, Math.max(0, value)));
      }
    }
  }
  const enlarged = side * Math.max(1, Math.floor(SIDE / side));
  await sharp(pixels, { raw: { width: side, height: side, channels: 3 } })
    .resize(enlarged, enlarged, { kernel: "nearest" })
    .png()
    .toFile(path);
}
