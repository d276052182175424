/**
 * A small SSD (Liu et al., arXiv 1512.02325): three maps of features, of a quarter, an eighth and a sixteenth of the
 * image's side, and on each of them two convolutions that say for every anchor which class it holds and where its box
 * lies.
 */
import {
  checkpoint,
  concat,
  fold,
  type HostTensor,
  type Key,
  relu,
  reshape,
  scope,
  type Tensor,
  type Tree,
  transpose,
} from "@mp/core";
import { batchNorm, conv, type LayerContext, sequential } from "@mp/nn";
import type { AnchorMap } from "./boxes/anchors.js";

/** Parameters or statistics as a traced function sees them. */
type TracedTree = Tree<Tensor>;

export interface ModelContext extends LayerContext {
  readonly modelState: TracedTree;
}

export interface Predictions {
  /** Logits [batch, anchors, 1 + classes], 0 for the background. */
  readonly scores: Tensor;
  /** [batch, anchors, 4] */
  readonly offsets: Tensor;
}

export interface DetectorModel {
  init(key: Key): Tree<HostTensor>;
  initState(): Tree<HostTensor>;
  apply(
    parameters: TracedTree,
    x: Tensor,
    context: ModelContext,
  ): readonly [predictions: Predictions, state: TracedTree];
}

/** A part of the backbone, whatever its parameters. */
interface Stage {
  init(key: Key): Tree<HostTensor>;
  initState(): Tree<HostTensor>;
  apply(parameters: TracedTree, x: Tensor, context: ModelContext): readonly [Tensor, TracedTree];
}

export interface ModelOptions {
  /** Channels of the stem. */
  readonly width: number;
  readonly classes: number;
  readonly maps: readonly AnchorMap[];
  /** Recompute the stages' activations in the backward pass. */
  readonly checkpointing: boolean;
}

const convNorm = (inputs: number, outputs: number, stride = 1) =>
  [conv(inputs, outputs, 3, { stride, padding: "same", bias: false }), batchNorm(outputs), relu] as const;

/** Halves the image. */
const stage = (inputs: number, outputs: number) =>
  sequential(...convNorm(inputs, outputs, 2), ...convNorm(outputs, outputs));

export function ssd({ width, classes, maps, checkpointing }: ModelOptions): DetectorModel {
  const stem = sequential(...convNorm(3, width, 2));
  const stages = [stage(width, 2 * width), stage(2 * width, 4 * width), stage(4 * width, 4 * width)];
  const backbone = [stem, ...stages] as unknown as readonly Stage[];
  const heads = maps.map(({ shapes }, index) => {
    const inputs = index === 0 ? 2 * width : 4 * width;
    const head = (values: number) => conv(inputs, shapes.length * values, 3, { padding: "same" });
    return { scores: head(1 + classes), offsets: head(4) };
  });
  return {
    init: (key) => ({
      backbone: backbone.map((layer, index) => layer.init(fold(key, `backbone/${index}`))) as never,
      heads: heads.map(({ scores, offsets }, index) => ({
        scores: scores.init(fold(key, `heads/${index}/scores`)),
        offsets: offsets.init(fold(key, `heads/${index}/offsets`)),
      })),
    }),
    initState: () => backbone.map((layer) => layer.initState()) as never,
    apply: (parameters, x, context) => {
      const own = parameters as never as { readonly backbone: TracedTree[]; readonly heads: HeadTrees[] };
      const states = context.modelState as readonly TracedTree[];
      const next: TracedTree[] = [];
      const features: Tensor[] = [];
      let y = x;
      backbone.forEach((layer, index) => {
        const run = (input: Tensor) =>
          layer.apply(own.backbone[index] as TracedTree, input, {
            ...context,
            modelState: states[index] as TracedTree,
          });
        const [output, state] = scope(`backbone${index}`, () => (checkpointing ? checkpoint(run) : run)(y));
        next.push(state);
        if (index > 0) features.push(output);
        y = output;
      });
      const all = heads.map((head, index) =>
        scope(`head${index}`, () => {
          const [map, trees] = [features[index] as Tensor, own.heads[index] as HeadTrees];
          const scores = perAnchor(head.scores.apply(trees.scores as never, map), 1 + classes);
          return { scores, offsets: perAnchor(head.offsets.apply(trees.offsets as never, map), 4) };
        }),
      );
      const scores = concat(
        all.map((each) => each.scores),
        1,
      );
      const offsets = concat(
        all.map((each) => each.offsets),
        1,
      );
      return [{ scores, offsets }, next];
    },
  };
}

interface HeadTrees {
  readonly scores: TracedTree;
  readonly offsets: TracedTree;
}

/** [batch, shapes · values, rows, columns] to [batch, rows · columns · shapes, values]. */
function perAnchor(map: Tensor, values: number): Tensor {
  return reshape(transpose(map, [0, 2, 3, 1]), [map.shape[0] ?? 1, -1, values]);
}
