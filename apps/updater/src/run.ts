import { type RunResult, UsageError } from "@mp/cli";
import {
  fitByFlags,
  type PointBatch,
  pointBatch,
  pointBatches,
  type Run,
  resultOf,
  trainerOptions,
  unseenPoints,
} from "@mp/cli/training";
import {
  chain,
  clipByGlobalNorm,
  dynamicLossScale,
  type HostTensor,
  isHostTensor,
  key,
  leavesOf,
  momentum,
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
import { pointFeeder } from "./point-feeder.js";
import { simulateWorkers } from "./simulate-workers.js";
import { pointTask, type TracedBatch } from "./task.js";

type Task = ReturnType<typeof pointTask>;

/** NNabla's first scale. */
const SCALE = 8;
const MAX_RETRIES = 100;

/** Trains with the updater and by hand, on the same batches, and says whether every bit is the same. */
export async function runUpdater(run: Run<Options>): Promise<{ readonly result: RunResult }> {
  const { options, label, context } = run;
  if (options.masterWeights === "stochastic") {
    throw new UsageError(
      "--master-weights stochastic: its randomness counts a trainer's steps, a loop by hand has none",
    );
  }
  const task = pointTask(options);
  await using training = await openTraining(run, task);
  const record = await fitByFlags({ ...run, training, batches: pointBatches() });
  const own = Object.fromEntries(leavesOf(await training.parameters(), isHostTensor, "parameters"));
  const hand = context.signal.aborted ? undefined : await trainByHand(run, task, record.steps);
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
  const isRight: boolean[] = [];
  for (const { x, y } of unseenPoints()) {
    const classes = await training.predict(classify, { x });
    for (const [point, label] of y.data.entries()) isRight.push(classes.data[point] === label);
  }
  const metric = { name: "accuracy", value: isRight.filter(Boolean).length / isRight.length };
  const details = hand === undefined ? {} : { details: { sameBits: hasSameBits(own, hand) } };
  return { result: await resultOf({ ...run, training, record, metric, ...details }) };
}

/** The loss scaling of the flags, by default NNabla's dynamic one. */
function lossScaling({ lossScale, initialScale = SCALE, scalingFactor, scalingInterval }: Options) {
  if (typeof lossScale === "number") return { scale: lossScale, dynamic: undefined };
  if (lossScale === "none") return { scale: 1, dynamic: undefined };
  return { scale: initialScale, dynamic: { scalingFactor, N: scalingInterval } };
}

/** Sums gradients over the workers of `--workers`; undefined for a single worker. */
const communicator = ({ workers }: Options) => (workers === 1 ? undefined : simulateWorkers(workers));

/** The updater's trainer. For flags that NNabla's updater lacks, a trainer with a static scale or one that skips. */
async function openTraining(run: Run<Options>, task: Task) {
  const { options } = run;
  const { onOverflow, accumulate, ...shared } = trainerOptions(run);
  const { scale, dynamic } = lossScaling(options);
  const comm = communicator(options);
  const clipped = chain(clipByGlobalNorm(options.clip), momentum({ learningRate: options.learningRate }));
  const own = { ...shared, loss: task.loss, params: task.init(key(options.seed)) };
  if (dynamic !== undefined && onOverflow === "retry") {
    const { training } = await updater({
      ...own,
      ...(comm && { comm }),
      solver: clipped,
      dataFeeder: pointFeeder(),
      scale,
      ...dynamic,
      accumGrad: accumulate,
      weightDecay: options.weightDecay,
    });
    return training;
  }
  if (comm !== undefined)
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
    ...own,
    optimizer: chain(weightDecay(options.weightDecay), clipped),
    precision: { ...shared.precision, lossScaler },
    accumulate,
    accumulation: "sum",
    onOverflow,
  });
}

/** Takes the updates with `ScalingLoop`, and returns the parameters. */
async function trainByHand(run: Run<Options>, task: Task, updates: number): Promise<Values> {
  const { options, backend } = run;
  const { precision, seed, accumulate, onOverflow } = trainerOptions(run);
  const loop = await ScalingLoop.start<PointBatch>(
    {
      backend,
      params: task.init(key(seed)),
      loss: task.loss as (weights: TensorTree, batch: Traced<PointBatch> & TracedBatch) => Tensor,
      solver: momentum({ learningRate: options.learningRate }),
      precision,
      dataFeeder: pointFeeder(),
      seed,
      ...lossScaling(options),
      maxRetries: onOverflow === "retry" ? MAX_RETRIES : 0,
      accumGrad: accumulate,
      weightDecay: options.weightDecay,
      clip: options.clip,
      comm: communicator(options),
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
