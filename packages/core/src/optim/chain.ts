import { mapTensors, type TensorTree, tensorsOf } from "../trace/map-tensors.js";
import { add, clip, div, literal, maximum, mul, sqrt } from "../trace/ops/elementwise.js";
import { reduceSumSquare } from "../trace/ops/reduce.js";
import type { Tensor } from "../trace/tensor.js";
import { checkHyperparameter } from "./hyperparameter.js";
import { checkUpdate, type Optimizer } from "./optimizer.js";

/** Runs transformations in order, each on what the one before gave; the last should be an optimizer. */
export function chain(...parts: readonly Optimizer[]): Optimizer<{ readonly parts: readonly TensorTree[] }> {
  return {
    name: parts.map((part) => part.name).join(" · "),
    description: parts.map((part) => part.description ?? part.name).join(" · "),
    init: (parameters) => ({ parts: parts.map((part) => part.init(parameters)) }),
    update: (gradients, state, parameters, context) => {
      let updates = gradients;
      const rates: Tensor[] = [];
      const next = parts.map((part, index) => {
        const result = part.update(updates, state.parts[index] ?? {}, parameters, context);
        checkUpdate(part.name, result);
        updates = result.updates;
        rates.push(...(result.rates ?? []));
        return result.state;
      });
      return { updates, state: { parts: next }, rates };
    },
  };
}

function stateless(
  name: string,
  update: (gradients: TensorTree, parameters: TensorTree) => TensorTree,
): Optimizer {
  return {
    name,
    init: () => ({}),
    update: (gradients, state, parameters) => ({ updates: update(gradients, parameters), state }),
  };
}

const checkLimit = (what: string, limit: number): void =>
  checkHyperparameter(`${what}: the limit`, limit, { from: 0, open: true });

/** √Σg² over all leaves, f32 scalar. */
export function globalNorm(tree: TensorTree): Tensor {
  return sqrt(sumOfSquares(tree));
}

/** Σg² over all leaves, f32 scalar. */
export function sumOfSquares(tree: TensorTree): Tensor {
  return tensorsOf(tree)
    .map((leaf) => reduceSumSquare(leaf))
    .reduce<Tensor>((sum, part) => add(sum, part), literal(0));
}

/** 1 while `norm` ≤ `limit`, limit / norm beyond: what gradients are multiplied by to have at most that norm. */
export function clipFactor(norm: Tensor, limit: number): Tensor {
  return div(literal(limit), maximum(norm, limit));
}

/** Scales all gradients together so that their norm is at most `limit` (Pascanu et al., arXiv 1211.5063). */
export function clipByGlobalNorm(limit: number): Optimizer {
  checkLimit("clipByGlobalNorm", limit);
  return stateless(`clipByGlobalNorm(${limit})`, (gradients) => {
    const factor = clipFactor(globalNorm(gradients), limit);
    return mapTensors((g) => mul(g, factor), gradients);
  });
}

/** Limits each element to -limit … limit. */
export function clipByValue(limit: number): Optimizer {
  checkLimit("clipByValue", limit);
  return stateless(`clipByValue(${limit})`, (gradients) =>
    mapTensors((g) => clip(g, { min: -limit, max: limit }), gradients),
  );
}

/** Adds λ·w to the gradients (L2 regularisation, on the masters); for decoupled decay use `adamW`. */
export function weightDecay(lambda: number): Optimizer {
  checkHyperparameter("weightDecay: the decay", lambda, { from: 0 });
  return stateless(`weightDecay(${lambda})`, (gradients, parameters) =>
    mapTensors((g, w) => add(g, mul(w, lambda)), gradients, parameters),
  );
}
