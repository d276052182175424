import type { Backend } from "@mp/graph";
import { type StepFigures, stepFigures } from "../compiled/compiled-step.js";
import { type StepBound, stepBound } from "./bound.js";
import { compileLast, type DevicelessOptions } from "./deviceless.js";
import { GPU_TARGETS } from "./gpu-target-table.js";

/** Figures and time bounds of a training step compiled for a GPU. */
export interface StepForGpu extends StepFigures, StepBound {
  /** The GPU's full name. */
  readonly gpu: string;
  /** Number of nodes in the graph of the step. */
  readonly nodes: number;
  /** Milliseconds to write and compile the program. */
  readonly compileMs: number;
}

/**
 * Compiles a training step for a GPU that this machine need not have. Nothing is computed.
 * @param train makes a trainer on the backend and calls its `step` once; results mean nothing
 * @example
 * ```ts
 * const { kernels, bytes } = await compileStep({ target: "h200" }, async (backend) => {
 *   const training = await trainer({ backend, ...options });
 *   await training.step(batch);
 * });
 * ```
 * @throws MP_INVALID_ARGUMENT for an unknown option, and if `train` makes no step; what `train` throws
 * @throws MP_BACKEND_UNAVAILABLE without the compiler, naming the remedy
 */
export async function compileStep(
  options: DevicelessOptions,
  train: (backend: Backend) => Promise<void>,
): Promise<StepForGpu> {
  // Earlier programs make the initial state.
  const { graph, step, compileMs } = await compileLast(options, train);
  const { name, published } = GPU_TARGETS[options.target];
  return {
    gpu: name,
    nodes: graph.nodes.length,
    compileMs,
    ...stepFigures(step),
    ...stepBound(step, published),
  };
}
