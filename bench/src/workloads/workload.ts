import {
  type Backend,
  type Fed,
  isHostTensor,
  type LossContext,
  type LossParts,
  leavesOf,
  type PrecisionChoice,
  type StepResult,
  type TensorTree,
  type Traced,
  type TrainerOptions,
  trainer,
} from "@mp/core";
import type { Graph, ProfileRow } from "@mp/core/graph";
import { type PlainTraining, startPlain } from "./plain-step.js";
import type { WorkloadDefinition } from "./workload-definition.js";

/** A workload whose step carries running statistics. */
export interface StatefulDefinition<P, D, M> extends Omit<WorkloadDefinition<P, D>, "loss"> {
  readonly modelState: M;
  readonly loss: (
    params: Traced<P>,
    batch: Traced<D>,
    context: LossContext<Traced<M>>,
  ) => LossParts<Traced<M> & TensorTree>;
}

/** Options that a measurement may change. */
export type TrainingChanges = Pick<
  TrainerOptions<unknown, unknown, unknown>,
  "checkNewParameters" | "accumulate" | "ranks" | "shard"
>;

/** A running training on the workload's batch. */
export interface Training {
  step(): Promise<StepResult>;
  /** The step's graph as the engine gets it. */
  graph(): Graph;
  /** Makes a step with the engine's profiler on. */
  profile(): Promise<readonly ProfileRow[]>;
  dispose(): Promise<void>;
}

export interface Workload {
  readonly title: string;
  readonly lossDivisor: number;
  readonly matrixFlops: number;
  /** Number of elements of all parameters. */
  readonly parameterCount: number;
  /** Trains as a user does, through the trainer. */
  train(backend: Backend, precision: PrecisionChoice, changes?: TrainingChanges): Promise<Training>;
  /**
   * Gradients and optimizer alone: no finite check, no scaler, no rollback; always f32.
   * @throws RangeError for a workload that carries running statistics
   */
  trainPlain(backend: Backend): Promise<PlainTraining>;
}

/** Hides the type parameters of a definition, so that all workloads share one type. */
export function defineWorkload<P, D>(definition: WorkloadDefinition<P, D>): Workload {
  const { loss } = definition;
  const options = { loss: (weights: Traced<P>, data: Traced<D>) => loss(weights, data) };
  return workload(definition, options, (backend) => startPlain(backend, definition));
}

/** Defines a workload with model state, which the plain step does not support. */
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
    parameterCount: leavesOf(params, isHostTensor, "parameters").reduce(
      (sum, [, { data }]) => sum + data.length,
      0,
    ),
    train: async (backend, precision, changes = {}) => {
      const training = await trainer<P, Traced<D>, M>({
        backend,
        params,
        optimizer,
        precision,
        onWarning: () => undefined,
        ...options,
        ...changes,
        ...(clipNorm === undefined ? {} : { clipNorm }),
      });
      return {
        step: () => training.step(...new Array<typeof batch>(changes.accumulate ?? 1).fill(batch)),
        graph: () => training.graph(batch),
        profile: () => training.profile(batch),
        dispose: () => training.dispose(),
      };
    },
    trainPlain,
  };
}
