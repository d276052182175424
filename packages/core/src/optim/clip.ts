import { mapTensors } from "../trace/map-tensors.js";
import { clip, div, literal, maximum, mul } from "../trace/ops/elementwise.js";
import type { Tensor } from "../trace/tensor.js";
import { globalNorm } from "./global-norm.js";
import { checkHyperparameter } from "./hyperparameter.js";
import type { Optimizer } from "./optimizer.js";
import { stateless } from "./stateless.js";

const checkLimit = (what: string, limit: number): void =>
  checkHyperparameter(`${what}: the limit`, limit, { from: 0, open: true });

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
