import { type HostTensor, MpError, tensor } from "@mp/core";
import {
  type Box,
  type Dataset,
  datasetSignature,
  indexedDataset,
  type LabeledBox,
  permutation,
  randomStream,
} from "@mp/data";
import { matchAnchors } from "../boxes/match.js";
import type { SceneImages } from "./scene-images.js";
import type { Scenes } from "./scenes.js";

/** Images and the training target of each anchor. */
export type SceneBatch = {
  /** f32 [batch, 3, side, side] */
  readonly x: HostTensor<"f32">;
  /** i32 [batch, anchors]: 0 for background, classes from 1, -1 for anchors to ignore */
  readonly labels: HostTensor<"i32">;
  /** f32 [batch, anchors, 4], 0 where there is no box */
  readonly offsets: HostTensor<"f32">;
};

export interface SceneBatchOptions {
  readonly batch: number;
  readonly seed: number;
  /** Mirror half of the images, drawn again in each epoch. */
  readonly flip: boolean;
}

/** Largest size of an array of images. */
const MOST_BYTES = 2 ** 31;

/** Gives augmentation other random streams than shuffling. */
const FLIPS = 1;

/** Endless shuffled batches, each a function of its index, so that a resumed run continues with the next one. */
export function sceneBatches(
  scenes: Scenes,
  anchors: readonly Box[],
  { batch, seed, flip }: SceneBatchOptions,
): Dataset<SceneBatch> {
  const { train, size } = scenes;
  const count = train.boxes.length;
  if (batch > count) {
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `--batch ${batch} is larger than the data, ${count} images; take fewer`,
    );
  }
  const sizeBytes = 4 * batch * 3 * size * size;
  if (sizeBytes > MOST_BYTES) {
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `--batch ${batch} of ${size} by ${size} is ${sizeBytes} bytes, the most is ${MOST_BYTES}; take fewer`,
    );
  }
  let drawn: { readonly epoch: number; readonly order: Uint32Array } | undefined;
  return indexedDataset({
    signature: datasetSignature("scenes", { ...train, anchors, batch, seed, flip }),
    batchesPerEpoch: Math.floor(count / batch),
    epochs: Number.POSITIVE_INFINITY,
    batch: ({ epoch, index }) => {
      if (drawn?.epoch !== epoch) drawn = { epoch, order: permutation(count, randomStream(seed, epoch)) };
      const images = drawn.order.subarray(index * batch, (index + 1) * batch);
      const mirrored = Array.from(
        images,
        (image) => flip && randomStream(seed, FLIPS, epoch, image).integer(2) === 1,
      );
      const labels = new Int32Array(batch * anchors.length);
      const offsets = new Float32Array(4 * labels.length);
      images.forEach((image, row) => {
        const boxes = (train.boxes[image] ?? []).map((box) => (mirrored[row] ? mirror(box, size) : box));
        const start = row * anchors.length;
        const end = start + anchors.length;
        matchAnchors(anchors, boxes, labels.subarray(start, end), offsets.subarray(4 * start, 4 * end));
      });
      return {
        x: pixels(train, scenes, images, mirrored),
        labels: tensor(labels, [batch, anchors.length]),
        offsets: tensor(offsets, [batch, anchors.length, 4]),
      };
    },
  });
}

/** The images at these indices, normalized: f32 [images, 3, side, side]. */
export function pixels(
  { x }: SceneImages,
  { size, statistics }: Scenes,
  images: ArrayLike<number>,
  mirrored: readonly boolean[] = [],
): HostTensor<"f32"> {
  const area = size * size;
  const out = new Float32Array(images.length * 3 * area);
  for (let row = 0; row < images.length; row++) {
    for (let channel = 0; channel < 3; channel++) {
      const [mean = 0, deviation = 1] = [statistics.mean[channel], statistics.deviation[channel]];
      const from = ((images[row] ?? 0) * 3 + channel) * area;
      const to = (row * 3 + channel) * area;
      for (let place = 0; place < area; place++) {
        const source = mirrored[row] ? place - (place % size) + size - 1 - (place % size) : place;
        out[to + place] = ((x.data[from + source] ?? 0) / 255 - mean) / deviation;
      }
    }
  }
  return tensor(out, [images.length, 3, size, size]);
}

/** A box in the image mirrored left to right. */
function mirror(labeled: LabeledBox, side: number): LabeledBox {
  const [left, top, right, bottom] = labeled.box;
  return { ...labeled, box: [side - right, top, side - left, bottom] };
}
