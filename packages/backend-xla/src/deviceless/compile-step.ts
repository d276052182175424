import type { Backend } from "@mp/graph";
import { invalid } from "@mp/graph/internal";
import { type StepFigures, stepFigures } from "../compiled/index.js";
import { type StepBound, stepBound } from "./bound.js";
import { type CompiledGraph, type DevicelessOptions, deviceless } from "./deviceless.js";
import { GPU_TARGETS } from "./gpu-target-table.js";

/** A training step as it was compiled for a GPU. */
export interface StepForGpu extends StepFigures, StepBound {
  /** The GPU's full name. */
  readonly gpu: string;
  /** Nodes of the step's graph. */
  readonly nodes: number;
  /** Milliseconds from the graph to the compiled program. */
  readonly compileMs: number;
}

/**
 * Compiles a training step for a GPU that this machine need not have. Nothing is computed.
 * @param train makes a trainer on the backend and calls its `step` once; results are zeros
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
  options: Omit<DevicelessOptions, "onCompiled">,
  train: (backend: Backend) => Promise<void>,
): Promise<StepForGpu> {
  const compiled: CompiledGraph[] = [];
  const backend = await deviceless({ ...options, onCompiled: (graph) => compiled.push(graph) });
  try {
    await train(backend);
  } finally {
    await backend.dispose();
  }
  // The programs before it make the initial state.
  const last = compiled.at(-1);
  if (last === undefined) throw invalid("compileStep: train must call a trainer's step");
  const { name, published } = GPU_TARGETS[options.target];
  return {
    gpu: name,
    nodes: last.graph.nodes.length,
    compileMs: last.compileMs,
    ...stepFigures(last.step),
    ...stepBound(last.step, published),
  };
}
