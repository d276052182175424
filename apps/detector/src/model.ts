/**
 * A small SSD (Liu et al., arXiv 1512.02325): three feature maps, of a quarter, an eighth and a sixteenth of the
 * image's side, and on each of them two convolutions that predict the class and the box of every anchor.
 */
import { foldIn, type Key, remat, scope, type Tensor, type Traced } from "@mp/core";
import { concat, relu, reshape, transpose } from "@mp/core/ops";
import { asModel, batchNorm, convolution, type Model, type StatefulContext, sequential } from "@mp/nn";
import type { AnchorMap } from "./boxes/anchors.js";

export interface Predictions {
  /** Logits [batch, anchors, 1 + classes]; class 0 is the background. */
  readonly scores: Tensor;
  /** [batch, anchors, 4] */
  readonly offsets: Tensor;
}

export type DetectorModel = ReturnType<typeof ssd>;

export interface ModelOptions {
  /** Channels of the stem. */
  readonly width: number;
  readonly classes: number;
  readonly maps: readonly AnchorMap[];
  /** Recompute the stages' activations in the backward pass. */
  readonly checkpointing: boolean;
}

const convNorm = (inputs: number, outputs: number, stride = 1) =>
  [
    convolution(inputs, outputs, 3, { stride, padding: "same", bias: false }),
    batchNorm(outputs),
    relu,
  ] as const;

/** Convolutions that halve the image's side. */
const stage = (inputs: number, outputs: number) =>
  sequential(...convNorm(inputs, outputs, 2), ...convNorm(outputs, outputs));

export function ssd({ width, classes, maps, checkpointing }: ModelOptions) {
  const stem = sequential(...convNorm(3, width, 2));
  const stages = [stage(width, 2 * width), stage(2 * width, 4 * width), stage(4 * width, 4 * width)];
  const backbone: readonly Model[] = [asModel(stem), ...stages.map(asModel)];
  const heads = maps.map(({ shapes }, index) => {
    const inputs = index === 0 ? 2 * width : 4 * width;
    const head = (values: number) => convolution(inputs, shapes.length * values, 3, { padding: "same" });
    return { scores: head(1 + classes), offsets: head(4) };
  });
  const init = (key: Key) => ({
    backbone: backbone.map((part, index) => part.init(foldIn(key, `backbone/${index}`))),
    heads: heads.map(({ scores, offsets }, index) => ({
      scores: scores.init(foldIn(key, `heads/${index}/scores`)),
      offsets: offsets.init(foldIn(key, `heads/${index}/offsets`)),
    })),
  });
  const initState = () => backbone.map((part) => part.initState());
  type Parameters = Traced<ReturnType<typeof init>>;
  type Statistics = ReturnType<typeof initState>;

  const apply = (
    parameters: Parameters,
    x: Tensor,
    context: StatefulContext<Statistics>,
  ): readonly [predictions: Predictions, state: Traced<Statistics>] => {
    const state: Traced<Statistics>[number][] = [];
    const features: Tensor[] = [];
    let y = x;
    for (const [index, part] of backbone.entries()) {
      const [own, modelState] = [at(parameters.backbone, index), at(context.modelState, index)];
      const run = (input: Tensor) => part.apply(own, input, { ...context, modelState });
      const [output, next] = scope(`backbone${index}`, () => (checkpointing ? remat(run) : run)(y));
      state.push(next);
      if (index > 0) features.push(output);
      y = output;
    }
    const found = heads.map(({ scores, offsets }, index) =>
      scope(`head${index}`, () => {
        const [map, own] = [at(features, index), at(parameters.heads, index)];
        return {
          scores: perAnchor(scores.apply(own.scores, map), 1 + classes),
          offsets: perAnchor(offsets.apply(own.offsets, map), 4),
        };
      }),
    );
    const ofAllMaps = (name: keyof Predictions): Tensor =>
      concat(
        found.map((each) => each[name]),
        1,
      );
    return [{ scores: ofAllMaps("scores"), offsets: ofAllMaps("offsets") }, state];
  };
  return { init, initState, apply };
}

function at<T>(list: readonly T[], index: number): T {
  const value = list[index];
  if (value === undefined) throw new Error(`internal: nothing at ${index}`);
  return value;
}

/** [batch, shapes · values, rows, columns] to [batch, rows · columns · shapes, values]. */
function perAnchor(map: Tensor, values: number): Tensor {
  return reshape(transpose(map, [0, 2, 3, 1]), [map.shape[0] ?? 1, -1, values]);
}
