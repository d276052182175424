import { type AppContext, type RunResult, UsageError } from "@mp/cli";
import { fitByFlags, onBackend, precisionOf, resultOf } from "@mp/cli/training";
import {
  type Backend,
  chain,
  clipByGlobalNorm,
  dynamicLossScale,
  type HostTensor,
  isHostTensor,
  key,
  leavesOf,
  momentum,
  type Precision,
  staticLossScale,
  type Tensor,
  type TensorTree,
  type Traced,
  trainer,
  weightDecay,
} from "@mp/core";
import { updater } from "@mp/core/compat";
import { argMax } from "@mp/core/ops";
import type { Values } from "./by-hand/engine-program.js";
import { ScalingLoop } from "./by-hand/scaling-loop.js";
import type { Options } from "./flags.js";
import { POINTS, type PointBatch, pointBatch, pointBatches, pointFeeder } from "./points.js";
import { simulatedWorkers } from "./simulated-workers.js";
import { pointTask, type TracedBatch } from "./task.js";

/** Batches that no run trains on. */
const HELD_OUT = { first: 2 ** 20, count: 16 };
/** NNabla's first scale. */
const SCALE = 8;
const MAX_RETRIES = 100;

/** Trains with the updater and by hand, on the same batches, and says whether every bit is the same. */
export function runUpdater(options: Options, label: string, context: AppContext): Promise<RunResult> {
  if (options.masterWeights === "stochastic") {
    throw new UsageError(
      "--master-weights stochastic: its randomness counts a trainer's steps, a loop by hand has none",
    );
  }
  return onBackend(options, async (backend) => {
    const task = pointTask(options);
    const parts = { backend, task, precision: precisionOf(options, backend.manifest), options };
    await using training = await trainingOf(parts, context.signal);
    const record = await fitByFlags({ training, batches: pointBatches(), options, context, label });
    const own = Object.fromEntries(leavesOf(await training.parameters(), isHostTensor, "parameters"));
    const hand = context.signal.aborted ? undefined : await byHand(parts, record.steps);
    if (hand !== undefined && !hasSameBits(own, hand)) {
      await context.attempt(label, () => {
        throw new UsageError("step by step gives other parameters; was --resume made with other flags?");
      });
    } else if (hand !== undefined) {
      context.print(
        `${label}: ${record.steps} updates written out step by step give the same bits in every parameter.`,
      );
    }
    const classify = (weights: Parameters<typeof task.logits>[0], { x }: { readonly x: Tensor }): Tensor =>
      argMax(task.logits(weights, x), { axis: 1 });
    let hits = 0;
    for (let index = 0; index < HELD_OUT.count; index++) {
      const { x, y } = pointBatch(HELD_OUT.first + index);
      const classes = await training.predict(classify, { x });
      hits += classes.data.filter((found, point) => found === y.data[point]).length;
    }
    return resultOf({
      context,
      options,
      backend,
      training,
      record,
      metric: { name: "accuracy", value: hits / (HELD_OUT.count * POINTS) },
      ...(hand === undefined ? {} : { details: { sameBits: hasSameBits(own, hand) } }),
    });
  });
}

interface RunParts {
  readonly backend: Backend;
  readonly task: ReturnType<typeof pointTask>;
  /** The loss scaler follows its parts from `scalingOf`. */
  readonly precision: Precision;
  readonly options: Options;
}

/** The scaling that the flags name: NNabla's dynamic one unless they say otherwise. */
function scalingOf({ lossScale, initialScale = SCALE, scalingFactor, scalingInterval }: Options) {
  if (typeof lossScale === "number") return { scale: lossScale, dynamic: undefined };
  if (lossScale === "none") return { scale: 1, dynamic: undefined };
  return { scale: initialScale, dynamic: { scalingFactor, N: scalingInterval } };
}

const solverOf = ({ learningRate }: Options) => momentum({ learningRate });
const workersOf = ({ workers }: Options) => (workers === 1 ? {} : { comm: simulatedWorkers(workers) });

/** The updater's trainer; a trainer with a static scale, or one that skips, where the flags ask for what NNabla's lacks. */
async function trainingOf({ backend, task, precision, options }: RunParts, signal: AbortSignal) {
  const { seed, accumulate, clip } = options;
  const { scale, dynamic } = scalingOf(options);
  const clipped = chain(clipByGlobalNorm(clip), solverOf(options));
  const shared = { backend, loss: task.loss, params: task.init(key(seed)), seed, signal };
  if (dynamic !== undefined && options.onOverflow === "retry") {
    const { training } = await updater({
      ...shared,
      ...workersOf(options),
      solver: clipped,
      dataFeeder: pointFeeder(),
      scale,
      ...dynamic,
      accumGrad: accumulate,
      weightDecay: options.weightDecay,
      precision,
    });
    return training;
  }
  if (options.workers > 1)
    throw new UsageError("--workers: is of the updater, which scales dynamically and retries");
  const lossScaler =
    dynamic === undefined
      ? staticLossScale(scale)
      : dynamicLossScale({
          initialScale: scale,
          growthFactor: dynamic.scalingFactor,
          backoffFactor: 1 / dynamic.scalingFactor,
          growthInterval: dynamic.N,
          minScale: 2 ** -126,
        });
  return trainer({
    ...shared,
    optimizer: chain(weightDecay(options.weightDecay), clipped),
    precision: { ...precision, lossScaler },
    accumulate,
    accumulation: "sum",
    onOverflow: options.onOverflow,
  });
}

async function byHand({ backend, task, precision, options }: RunParts, updates: number): Promise<Values> {
  const { seed, accumulate, clip } = options;
  const loop = await ScalingLoop.start<PointBatch>(
    {
      backend,
      params: task.init(key(seed)),
      loss: task.loss as (weights: TensorTree, batch: Traced<PointBatch> & TracedBatch) => Tensor,
      solver: solverOf(options),
      precision,
      dataFeeder: pointFeeder(),
      seed,
      ...scalingOf(options),
      maxRetries: options.onOverflow === "retry" ? MAX_RETRIES : 0,
      accumGrad: accumulate,
      weightDecay: options.weightDecay,
      clip,
      comm: workersOf(options).comm,
    },
    pointBatch(0),
  );
  for (let update = 0; update < updates; update++) await loop.update();
  return loop.parameters();
}

function hasSameBits(a: Values, b: Values): boolean {
  const bits = ({ data }: HostTensor): Uint32Array => new Uint32Array(data.slice().buffer);
  return Object.entries(a).every(([path, value]) => {
    const [own, other] = [bits(value), bits(b[path] as HostTensor)];
    return own.length === other.length && own.every((word, index) => word === other[index]);
  });
}
