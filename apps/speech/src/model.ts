/**
 * A small relative of DeepSpeech 2 (Amodei et al., arXiv 1512.02595): a convolution over time, bidirectional GRUs, and a
 * CTC loss over letters.
 */
import { foldIn, type Key, remat, scope, type Tensor, type Traced } from "@mp/core";
import { add, concat, div, expand, literal, relu, transpose } from "@mp/core/ops";
import { convolution, dense, type GruParameters, gru } from "@mp/nn";

export interface RecognizerOptions {
  readonly mels: number;
  readonly channels: number;
  readonly cells: number;
  readonly layers: number;
  /** Letters and the blank. */
  readonly classes: number;
  /** Recompute each recurrent layer in the backward pass. */
  readonly checkpointing: boolean;
}

const STRIDE = 2;
const TAPS = 5;

/** Number of output times for that many frames of features. */
export const outputFrames = (frames: number): number => Math.ceil(frames / STRIDE);

/** `outputFrames` of an i32 tensor. */
export const outputLength = (frames: Tensor): Tensor => div(add(frames, STRIDE - 1), STRIDE);

/** Parameters and logits of one configuration. */
export function recognizer({ mels, channels, cells, layers, classes, checkpointing }: RecognizerOptions) {
  const front = convolution(mels, channels, [TAPS], { stride: STRIDE, padding: "same" });
  const stack = Array.from({ length: layers }, (_, index) => {
    const inputs = index === 0 ? channels : 2 * cells;
    return { forward: gru(inputs, cells), backward: gru(inputs, cells, { reverse: true }) };
  });
  const project = dense(2 * cells, classes);
  const init = (key: Key) => ({
    front: front.init(foldIn(key, "front")),
    layers: stack.map(({ forward, backward }, index) => ({
      forward: forward.init(foldIn(foldIn(key, index), "forward")),
      backward: backward.init(foldIn(foldIn(key, index), "backward")),
    })),
    project: project.init(foldIn(key, "project")),
  });
  type Directions = Traced<{ readonly forward: GruParameters; readonly backward: GruParameters }>;

  /** Features [batch, frames, mels] to logits [time, batch, classes]. */
  const apply = (parameters: Traced<ReturnType<typeof init>>, features: Tensor): Tensor => {
    const context = undefined as never;
    const heard = relu(front.apply(parameters.front, transpose(features, [0, 2, 1]), context));
    let x = transpose(heard, [2, 0, 1]);
    const [, batch = 1] = x.shape;
    for (const [index, { forward, backward }] of stack.entries()) {
      const both = (own: Directions, input: Tensor): Tensor => {
        const hidden = expand(literal(0), [batch, cells]);
        const there = forward.apply(own.forward, { x: input, hidden }, context).y;
        return concat([there, backward.apply(own.backward, { x: input, hidden }, context).y], 2);
      };
      const input = x;
      x = scope(`layer${index}`, () =>
        (checkpointing ? remat(both) : both)(parameters.layers[index] as Directions, input),
      );
    }
    return scope("project", () => project.apply(parameters.project, x, context));
  };
  return { init, apply };
}
