import { ops } from "@mp/core";
import { type HostTensor, type Tensor, tensor } from "@mp/graph";

/** Numbers in 0 … 1. */
export type Random = () => number;

/** A function of weights and an input that is made of random operators, and what it is exported with. */
export interface RandomModel {
  readonly params: Readonly<Record<string, HostTensor<"f32">>>;
  readonly shape: readonly number[];
  readonly hasOpenBatch: boolean;
  readonly apply: (params: Readonly<Record<string, Tensor>>, inputs: { readonly x: Tensor }) => Tensor;
}

/** An operation on the current value. Chosen once, before tracing: each trace does the same. */
type Step = (x: Tensor, weights: Readonly<Record<string, Tensor>>) => Tensor;

const last = ({ shape }: Tensor): number => shape.at(-1) as number;

/** Bounded, so that neither half dtypes overflow nor differences grow from operator to operator. */
const ELEMENTWISE: readonly ((x: Tensor) => Tensor)[] = [
  ops.tanh,
  ops.sigmoid,
  (x) => ops.relu(ops.tanh(x)),
  (x) => ops.gelu(ops.tanh(x)),
  (x) => ops.mul(x, 0.5),
  (x) => ops.add(x, 0.25),
  ops.neg,
  ops.abs,
  (x) => ops.clip(x, { min: -0.75, max: 0.5 }),
  (x) => ops.softmax(x),
  (x) => ops.sub(x, ops.reduceMean(x, { axes: [-1], keepdims: true })),
  (x) => ops.div(x, ops.add(ops.reduceMax(ops.abs(x), { axes: [-1], keepdims: true }), 1)),
  (x) => ops.where(ops.greater(x, 0), x, ops.mul(x, 0.1)),
  (x) => ops.cast(ops.cast(x, "f16"), "f32"),
];

export function randomModel(random: Random): RandomModel {
  const below = (limit: number): number => Math.floor(random() * limit);
  const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T;
  const rank = 2 + below(3);
  const shape = Array.from({ length: rank }, () => 2 + below(5));
  const params: Record<string, HostTensor<"f32">> = {};
  /**
   * Numbers up to 1, or up to the reciprocal of a product's terms: an operator after it would hide it from fusions.
   */
  const weight = (sizes: readonly number[], largest = 1): string => {
    const name = `w${Object.keys(params).length}`;
    const length = sizes.reduce((product, size) => product * size, 1);
    const data = Float32Array.from({ length }, () => largest * (2 * random() - 1));
    params[name] = tensor(data, sizes);
    return name;
  };
  const steps: Step[] = [];
  let size = [...shape];
  const shuffled = (count: number): number[] => {
    const left = Array.from({ length: count }, (_, axis) => axis);
    return Array.from({ length: count }, () => left.splice(below(left.length), 1)[0] as number);
  };
  const product = (): void => {
    const [inner = 1, outer] = [size.at(-1), 2 + below(6)];
    const name = weight([inner, outer], 2 / inner);
    steps.push((x, weights) => ops.matMul(x, weights[name] as Tensor));
    size = [...size.slice(0, -1), outer];
  };
  const transposition = (): void => {
    const perm = shuffled(size.length);
    steps.push((x) => ops.transpose(x, perm));
    size = perm.map((axis) => size[axis] as number);
  };
  const kinds: readonly (() => void)[] = [
    product,
    transposition,
    // Fused by engines, where what is before them allows it.
    () => {
      transposition();
      product();
    },
    () => {
      const one = pick(ELEMENTWISE);
      steps.push(one);
    },
    () => {
      const [scale, bias] = [weight([size.at(-1) as number]), weight([size.at(-1) as number])];
      steps.push((x, weights) =>
        ops.tanh(ops.layerNormalization(x, weights[scale] as Tensor, weights[bias] as Tensor)),
      );
    },
    () => {
      const name = weight([size.at(-1) as number]);
      steps.push((x, weights) => ops.add(x, weights[name] as Tensor));
    },
    () => {
      if (size.length < 3) return;
      const merged = [(size[0] as number) * (size[1] as number), ...size.slice(2)];
      steps.push((x) =>
        ops.reshape(x, [(x.shape[0] as number) * (x.shape[1] as number), ...x.shape.slice(2)]),
      );
      size = merged;
    },
    () => {
      if (size.length > 3) return;
      steps.push((x) => ops.unsqueeze(x, [1]));
      size = [size[0] as number, 1, ...size.slice(1)];
    },
    () => {
      const axis = size.length - 1;
      steps.push((x) => ops.concat([x, ops.mul(x, -0.5)], axis));
      size = [...size.slice(0, -1), 2 * (size.at(-1) as number)];
    },
    () => {
      const end = 1 + below(size.at(-1) as number);
      steps.push((x) => ops.slice(x, [{ axis: x.shape.length - 1, start: 0, end }]));
      size = [...size.slice(0, -1), end];
    },
    () => {
      if (size.length !== 3) return;
      // Each row attends to the others: two products of batches, one operand transposed.
      steps.push((x) => {
        const scores = ops.mul(ops.matMul(x, ops.transpose(x, [0, 2, 1])), 1 / last(x));
        return ops.matMul(ops.softmax(scores), x);
      });
    },
  ];
  const count = 3 + below(8);
  for (let step = 0; step < count; step++) pick(kinds)();
  return {
    params,
    shape,
    // Where the batch moves to another axis, and is then a size of a weight, there is no open batch.
    hasOpenBatch: random() < 0.5,
    apply: (weights, { x }) => steps.reduce((value, step) => step(value, weights), x),
  };
}
