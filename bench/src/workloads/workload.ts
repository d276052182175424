import {
  type Backend,
  type Fed,
  type Graph,
  type Optimizer,
  type PrecisionChoice,
  type ProfileRow,
  type StepResult,
  type Tensor,
  type Traced,
  trainer,
} from "@mp/core";
import { type PlainTraining, startPlain } from "./plain-step.js";

/** One training step on fixed data: what it computes, apart from engine and precision. */
export interface WorkloadDefinition<P, D> {
  readonly title: string;
  readonly params: P;
  readonly batch: D;
  readonly loss: (params: Traced<P>, batch: Traced<D>) => Tensor;
  readonly optimizer: Optimizer;
  readonly clipNorm?: number;
  /** The reported loss is the step's divided by this; default 1. */
  readonly lossDivisor?: number;
  /** Of the matrix products alone: three forward passes, less the first layer's input gradient where none is needed. */
  readonly matrixFlops: number;
}

/** A training under way on the workload's own batch. */
export interface Training {
  step(): Promise<StepResult>;
  /** The step as the engine gets it. */
  graph(): Graph;
  /** A step with the engine's profiler on. */
  profile(): Promise<readonly ProfileRow[]>;
  dispose(): Promise<void>;
}

export interface Workload {
  readonly title: string;
  readonly lossDivisor: number;
  readonly matrixFlops: number;
  /** As a user trains it, through the trainer. */
  train(backend: Backend, precision: PrecisionChoice): Promise<Training>;
  /** Gradients and optimizer alone: no finite check, no scaler, no roll-back; always f32. */
  trainPlain(backend: Backend): Promise<PlainTraining>;
}

/** Closes a definition over its types, so that workloads of different trees share one type. */
export function defineWorkload<P, D>(definition: WorkloadDefinition<P, D>): Workload {
  const { title, params, loss, optimizer, clipNorm, lossDivisor = 1, matrixFlops } = definition;
  const batch = definition.batch as unknown as Fed<Traced<D>>;
  return {
    title,
    lossDivisor,
    matrixFlops,
    train: async (backend, precision) => {
      const training = await trainer<P, Traced<D>, Readonly<Record<never, never>>>({
        backend,
        params,
        loss: (weights, data) => loss(weights, data),
        optimizer,
        precision,
        onWarning: () => undefined,
        ...(clipNorm === undefined ? {} : { clipNorm }),
      });
      return {
        step: () => training.step(batch),
        graph: () => training.graph(batch),
        profile: () => training.profile(batch),
        dispose: () => training.dispose(),
      };
    },
    trainPlain: (backend) => startPlain(backend, definition),
  };
}
