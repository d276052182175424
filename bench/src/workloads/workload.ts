import {
  type Backend,
  type Fed,
  type Graph,
  type LossContext,
  type LossParts,
  type Optimizer,
  type PrecisionChoice,
  type ProfileRow,
  type StepResult,
  type Tensor,
  type TensorTree,
  type Traced,
  type TrainerOptions,
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

/** One whose step carries statistics on. */
export interface StatefulDefinition<P, D, M> extends Omit<WorkloadDefinition<P, D>, "loss"> {
  readonly modelState: M;
  readonly loss: (
    params: Traced<P>,
    batch: Traced<D>,
    context: LossContext<Traced<M>>,
  ) => LossParts<Traced<M> & TensorTree>;
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
  /**
   * Gradients and optimizer alone: no finite check, no scaler, no roll-back; always f32.
   * @throws RangeError for a workload that carries statistics on
   */
  trainPlain(backend: Backend): Promise<PlainTraining>;
}

/** Closes a definition over its types, so that workloads of different trees share one type. */
export function defineWorkload<P, D>(definition: WorkloadDefinition<P, D>): Workload {
  const { loss } = definition;
  const options = { loss: (weights: Traced<P>, data: Traced<D>) => loss(weights, data) };
  return workload(definition, options, (backend) => startPlain(backend, definition));
}

/** The same of one with model state, which the plain step knows nothing of. */
export function defineStatefulWorkload<P, D, M>(definition: StatefulDefinition<P, D, M>): Workload {
  const { title, loss, modelState } = definition;
  return workload<P, D, M>(definition, { loss, modelState }, () => {
    throw new RangeError(`${title}: the plain step carries no statistics on`);
  });
}

function workload<P, D, M>(
  definition: Omit<WorkloadDefinition<P, D>, "loss">,
  options: Pick<TrainerOptions<P, Traced<D>, M, never>, "loss" | "modelState">,
  trainPlain: Workload["trainPlain"],
): Workload {
  const { title, params, optimizer, clipNorm, lossDivisor = 1, matrixFlops } = definition;
  const batch = definition.batch as unknown as Fed<Traced<D>>;
  return {
    title,
    lossDivisor,
    matrixFlops,
    train: async (backend, precision) => {
      const training = await trainer<P, Traced<D>, M>({
        backend,
        params,
        optimizer,
        precision,
        onWarning: () => undefined,
        ...options,
        ...(clipNorm === undefined ? {} : { clipNorm }),
      });
      return {
        step: () => training.step(batch),
        graph: () => training.graph(batch),
        profile: () => training.profile(batch),
        dispose: () => training.dispose(),
      };
    },
    trainPlain,
  };
}
