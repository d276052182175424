/** What happens to those who follow the diagnosis of a training that fails. */
import {
  type Backend,
  float32,
  MpError,
  type Precision,
  type Trainer,
  trainer,
  withRemedies,
} from "@mp/core";
import {
  type Batch,
  draw,
  type Fault,
  type Faulty,
  type Outcome,
  type Random,
  type Task,
} from "./failing-tasks.js";

const STEPS = 50;
const APPLIED = 45;

type AnyTrainer = Trainer<unknown, unknown, unknown>;

/** Starts a training and makes steps until `stop`; a run that throws MP_NON_FINITE has failed. */
async function start(
  backend: Backend,
  task: Task,
  faulty: Faulty,
  precision: Precision,
): Promise<AnyTrainer> {
  const forward = faulty.forward ?? task.forward;
  const loss = faulty.loss ?? task.loss;
  return (await trainer({
    backend,
    params: (faulty.params ?? task.params) as never,
    loss: (weights: never, { x, y }: never, context: never) => loss(forward(weights, x, context), y),
    optimizer: (faulty.optimizer ?? task.optimizer)(task.rate),
    precision,
    maxConsecutiveSkips: STEPS + 20,
    onWarning: () => undefined,
    ...(faulty.checkNewParameters === undefined ? {} : { checkNewParameters: faulty.checkNewParameters }),
  } as never)) as unknown as AnyTrainer;
}

interface Trained {
  readonly applied: number;
  readonly loss: number;
}

async function train(training: AnyTrainer, batch: Batch): Promise<Trained> {
  const losses: number[] = [];
  let applied = 0;
  for (let step = 0; step < STEPS; step++) {
    const result = await training.step(batch as never);
    if (result.applied) applied++;
    losses.push(result.loss);
  }
  return { applied, loss: losses.slice(-5).reduce((sum, loss) => sum + loss, 0) / 5 };
}

/** Draws a training with a fault, lets it fail, asks why, follows the advice and trains again. */
export async function follow(backend: Backend, fault: Fault, random: Random): Promise<Outcome> {
  const task = draw(random);
  const faulty = fault.make(task, random);
  const batch = faulty.batch ?? task.batch;
  const what = `${fault.name}; ${task.name}; ${faulty.precision.name}`;
  const failing = await start(backend, task, faulty, faulty.precision);
  let found: Awaited<ReturnType<AnyTrainer["diagnose"]>>;
  try {
    for (let step = 0; step < 12; step++) {
      const { applied, scale } = await failing.step(batch as never);
      if (!applied && step > 2) {
        found = await failing.diagnose([batch as never], { scale });
        break;
      }
    }
    found ??= await failing.diagnose([batch as never]);
  } finally {
    await failing.dispose();
  }
  const base = {
    what,
    cause: found?.cause,
    remedy: found?.remedy,
    remedies: found?.remedies ?? [],
    isCurable: fault.isCured,
  };
  if (found === undefined) return { ...base, wrong: "nothing was found" };
  if (!fault.causes.includes(found.cause))
    return { ...base, wrong: `the cause is ${fault.causes.join(" or ")}` };
  if (!fault.isCured) return { ...base, wrong: found.remedies.length === 0 ? undefined : "it has remedies" };
  try {
    const cured = await start(backend, task, faulty, withRemedies(faulty.precision, found.remedies));
    const after = await train(cured, batch);
    await cured.dispose();
    const plain = await start(backend, task, faulty, float32());
    const right = await train(plain, batch);
    await plain.dispose();
    if (after.applied < APPLIED)
      return { ...base, wrong: `${after.applied} steps of ${STEPS} applied (float32: ${right.applied})` };
    const off = Math.abs(after.loss - right.loss) / Math.abs(right.loss);
    return {
      ...base,
      wrong:
        off <= 0.05
          ? undefined
          : `loss ${after.loss}, float32's is ${right.loss} (${(100 * off).toFixed(1)} % off)`,
    };
  } catch (error) {
    if (!MpError.is(error)) throw error;
    return { ...base, wrong: `${error.code}: ${error.message}` };
  }
}
