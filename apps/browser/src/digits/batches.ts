import { type DataSource, type HostTensor, tensor } from "@mp/core";
import { PEN, paint, SIDE } from "./paint.js";
import { randomNumbers } from "./random.js";
import { writeDigit } from "./write-digit.js";

/** Images of digits, and the digit in each. */
export type DigitBatch = {
  /** [images, 1, SIDE, SIDE] */
  readonly x: HostTensor<"f32">;
  /** [images] */
  readonly y: HostTensor<"i32">;
};

/** Index of the first batch that no run trains on. */
const HELD_OUT = 2 ** 20;

/** The batch with this index, which has the same digits wherever it is made. */
export function digitBatch(index: number, size: number): DigitBatch {
  const random = randomNumbers(index * 7919 + size);
  const images = new Float32Array(size * SIDE * SIDE);
  const labels = Int32Array.from({ length: size }, () => Math.floor(random() * 10));
  for (const [place, label] of labels.entries()) {
    const image = images.subarray(place * SIDE * SIDE, (place + 1) * SIDE * SIDE);
    paint(writeDigit(label, random), image, PEN * (0.7 + 0.7 * random()));
  }
  return { x: tensor(images, [size, 1, SIDE, SIDE]), y: tensor(labels) };
}

export const unseenBatches = (count: number, size: number): readonly DigitBatch[] =>
  Array.from({ length: count }, (_, index) => digitBatch(HELD_OUT + index, size));

/** New digits at every step, endlessly. The cursor of a checkpoint is the number of batches before it. */
export function digitBatches(size: number): DataSource<DigitBatch> {
  return {
    iterate: (cursor) => {
      let made = typeof cursor === "number" ? cursor : 0;
      return {
        next: async () => ({ done: false, value: digitBatch(made++, size) }),
        get cursor() {
          return made;
        },
      };
    },
  };
}
