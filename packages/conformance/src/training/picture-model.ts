import { type HostTensor, ones, type Tensor, zeros } from "@mp/graph";
import {
  add,
  batchNormalization,
  conv,
  globalAveragePool,
  matMul,
  maxPool,
  mul,
  normalizeByStatistics,
  relu,
  softmaxCrossEntropyLoss,
} from "@mp/graph/ops";
import { anew } from "../fresh.js";
import { cycle, draw, integers, type Model } from "./models.js";

type Vector = HostTensor<"f32">;
interface Block<T> {
  readonly kernel: T;
  readonly scale: T;
  readonly bias: T;
}
interface Statistics<T> {
  readonly mean: T;
  readonly variance: T;
}
type Pictures = { readonly x: Tensor; readonly y: Tensor };
type Two<T> = { readonly first: T; readonly second: T };

const block = (inputs: number, outputs: number): Block<Vector> => ({
  kernel: draw([outputs, inputs, 3, 3], 1 / Math.sqrt(9 * inputs)),
  scale: ones([outputs]),
  bias: draw([outputs], 0.1),
});
const statistics = (channels: number): Statistics<Vector> => ({
  mean: zeros([channels]),
  variance: ones([channels]),
});

/** Updates running statistics with a momentum of 0.9. */
const follow = (running: Tensor, now: Tensor): Tensor => add(mul(running, 0.9), mul(now, 0.1));

function normalize(
  { kernel, scale, bias }: Block<Tensor>,
  x: Tensor,
  running: Statistics<Tensor>,
  training: boolean,
): readonly [Tensor, Statistics<Tensor>] {
  const convolved = conv(x, kernel, { pads: 1 });
  if (!training) return [relu(normalizeByStatistics(convolved, scale, bias, running)), running];
  const { y, mean, variance } = batchNormalization(convolved, scale, bias);
  const next = { mean: follow(running.mean, mean), variance: follow(running.variance, variance) };
  return [relu(y), next];
}

/** Two convolutions with batch normalization, a pool between them, a global mean, and a linear layer. */
export const pictureModel: Model<
  Two<Block<Vector>> & { readonly head: Vector },
  Pictures,
  Two<Statistics<Vector>>
> = {
  params: anew({ first: block(2, 4), second: block(4, 6), head: draw([6, 3], 0.4) }),
  modelState: anew({ first: statistics(4), second: statistics(6) }),
  loss: ({ first, second, head }, { x, y }, { modelState, training }) => {
    const [fine, ofFirst] = normalize(first, x, modelState.first, training);
    const [coarse, ofSecond] = normalize(second, maxPool(fine, 2), modelState.second, training);
    const logits = matMul(globalAveragePool(coarse), head);
    return { loss: softmaxCrossEntropyLoss(logits, y), modelState: { first: ofFirst, second: ofSecond } };
  },
  batch: cycle(() => ({ x: draw([6, 2, 6, 6], 1), y: integers([6], 3) })),
};
