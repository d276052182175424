import type { HostTensor, LossContext, Tensor, Traced } from "@mp/core";
import { softmax } from "@mp/core/ops";
import type { Box } from "@mp/data";
import { detect } from "./boxes/detect.js";
import type { JudgedImage } from "./boxes/mean-average-precision.js";
import { pixels } from "./data/scene-batches.js";
import type { Scenes } from "./data/scenes.js";
import type { DetectorModel } from "./model.js";
import type { Training } from "./training.js";

interface Question {
  readonly scenes: Scenes;
  readonly anchors: readonly Box[];
  readonly batch: number;
}

/** The network's current detections in the test images. The last batch is filled up with its first image. */
export async function findBoxes(
  training: Training,
  model: DetectorModel,
  { scenes, anchors, batch }: Question,
): Promise<readonly JudgedImage[]> {
  const { test, classes, size } = scenes;
  type Parameters = Traced<ReturnType<DetectorModel["init"]>>;
  type Statistics = Traced<ReturnType<DetectorModel["initState"]>>;
  const look = (parameters: Parameters, { x }: { readonly x: Tensor }, context: LossContext<Statistics>) => {
    const [{ scores, offsets }] = model.apply(parameters, x, context);
    return { scores: softmax(scores), offsets };
  };
  const judged: JudgedImage[] = [];
  for (let start = 0; start < test.boxes.length; start += batch) {
    const images = Array.from({ length: batch }, (_, row) =>
      start + row < test.boxes.length ? start + row : start,
    );
    const found = await training.predict(look, { x: pixels(test, scenes, images) });
    const row = (values: HostTensor, index: number): ArrayLike<number> => {
      const length = values.data.length / batch;
      return (values.data as Float32Array).subarray(index * length, (index + 1) * length);
    };
    for (const [index, image] of images.entries()) {
      if (image !== start + index) continue;
      const predictions = { scores: row(found.scores, index), offsets: row(found.offsets, index) };
      judged.push({
        truth: test.boxes[image] ?? [],
        found: detect(predictions, anchors, classes.length, size),
      });
    }
  }
  return judged;
}
