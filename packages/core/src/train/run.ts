import type { Backend, BackendWarning } from "../backend.js";
import { MpError } from "../errors.js";
import type { Graph, ValueType } from "../graph/graph.js";
import { type HostTensor, isHostTensor } from "../host-tensor.js";
import { leavesOf, mapTree } from "../tree.js";
import { type FedBatch, feedBatch } from "./batch.js";
import { type CheckpointInfo, type Json, loadCheckpoint, saveCheckpoint } from "./checkpoint.js";
import type { StepDefinition } from "./definition.js";
import { diagnose, formatAttribution } from "./diagnose.js";
import { Engine, runOnce } from "./engine.js";
import type { Precision } from "./precision.js";
import { fedName, outputTree, type Program, type TypeTree } from "./program.js";
import { isValueType } from "./state.js";
import {
  accumulateProgram,
  applyProgram,
  evaluateProgram,
  initProgram,
  type PredictFunction,
  parametersProgram,
  predictProgram,
  scaleProgram,
  trainProgram,
} from "./step.js";
import type { Counters, StepResult } from "./trainer.js";

type Outputs = Readonly<Record<string, HostTensor>>;

/**
 * Combines a window with those of other processes: gets every gradient (f32, of loss · scale) under its slot
 * `window/gradients/…`, `window/loss` and `window/poison`, and gives back tensors of the same names and shapes.
 * Means keep the step's size; whatever is used must let infinities and NaN through, so that all processes skip
 * the same steps.
 */
export type AllReduce = (window: Outputs) => Promise<Outputs>;

export interface RunOptions {
  readonly backend: Backend;
  readonly definition: StepDefinition;
  readonly parameters: unknown;
  readonly modelState: unknown;
  readonly allReduce: AllReduce | undefined;
  readonly maxConsecutiveSkips: number;
  readonly onWarning: (warning: BackendWarning) => void;
}

/** A training under way: the resident state, the programs compiled for it, and one queue of calls. */
export class TrainingRun {
  readonly precision: Precision;
  readonly warnings: BackendWarning[] = [];
  readonly #options: RunOptions;
  readonly #windowed: boolean;
  #engine: Engine | undefined;
  #stateTypes: TypeTree = {};
  /** Calls run one after another: each reads the state that the one before committed. */
  #queue: Promise<unknown> = Promise.resolve();
  /** What the window's slots hold when it is empty; written back after a call that failed half-way. */
  #emptyWindow: Outputs = {};
  readonly #predictors = new Map<unknown, number>();

  private constructor(options: RunOptions) {
    this.#options = options;
    this.precision = options.definition.precision;
    this.#windowed = options.definition.accumulate > 1 || options.allReduce !== undefined;
  }

  static async start(options: RunOptions): Promise<TrainingRun> {
    const run = new TrainingRun(options);
    for (const warning of run.precision.warnings ?? []) run.#warn(warning);
    await run.#initialise();
    return run;
  }

  async #initialise(): Promise<void> {
    const { backend, definition, parameters, modelState } = this.#options;
    for (const [path, leaf] of leavesOf(parameters, isHostTensor, "params")) {
      if (leaf.dtype === "f32") continue;
      throw new MpError(
        "MP_DTYPE_MISMATCH",
        `params at ${path}: initial parameters are f32, got ${leaf.dtype}`,
      );
    }
    const program = initProgram(
      definition,
      typesOf(parameters, "params"),
      typesOf(modelState, "modelState"),
      this.#windowed,
    );
    const values = await runOnce(backend, program, {
      ...fed("parameters", parameters),
      ...fed("model", modelState),
    });
    this.#stateTypes = program.outputs["state"] ?? {};
    const slots = Object.fromEntries(
      leavesOf(this.#stateTypes, isValueType, "state").map(([slot]) => [
        slot,
        values[fedName("state", slot)] as HostTensor,
      ]),
    );
    this.#emptyWindow = Object.fromEntries(
      Object.entries(slots).filter(([slot]) => slot.startsWith("window/")),
    );
    this.#engine = new Engine(backend, await backend.createState(slots), (warning) => this.#warn(warning));
  }

  step(...batches: readonly unknown[]): Promise<StepResult> {
    return this.#enqueue(async () => {
      const { accumulate } = this.#options.definition;
      if (batches.length !== accumulate) {
        throw new MpError(
          "MP_INVALID_ARGUMENT",
          `step: takes ${accumulate} batches (accumulate), got ${batches.length}`,
        );
      }
      const feeds = batches.map((batch) => feedBatch(batch));
      for (let retries = 0; ; retries++) {
        const outputs = this.#windowed
          ? await this.#runWindow(feeds)
          : await this.#runWhole(feeds[0] as FedBatch);
        if (flag(outputs, "again")) continue;
        if (!flag(outputs, "applied")) await this.#checkSkips(outputs, feeds);
        return {
          loss: number(outputs, "loss"),
          applied: flag(outputs, "applied"),
          scale: number(outputs, "scale"),
          gradNorm: number(outputs, "gradNorm"),
          metrics: metricsOf(outputs),
          retries,
        };
      }
    });
  }

  async #runWhole(feed: FedBatch): Promise<Outputs> {
    const { executable } = await this.#live.compiled("step", feed.signature, () => this.#trainProgram(feed));
    return executable.run(feed.inputs);
  }

  async #runWindow(feeds: readonly FedBatch[]): Promise<Outputs> {
    const engine = this.#live;
    const { definition, allReduce } = this.#options;
    try {
      const metrics: Outputs[] = [];
      for (const feed of feeds) {
        const build = (): Program => accumulateProgram(definition, this.#stateTypes, feed.types);
        const { executable } = await engine.compiled("accumulate", feed.signature, build);
        metrics.push(await executable.run(feed.inputs));
      }
      if (allReduce !== undefined) await this.#reduce(allReduce);
      const apply = await engine.compiled("apply", "", () => applyProgram(definition, this.#stateTypes));
      return { ...meanOf(metrics), ...(await apply.executable.run({})) };
    } catch (error) {
      await engine.state.write(this.#emptyWindow);
      throw error;
    }
  }

  async #reduce(allReduce: AllReduce): Promise<void> {
    const { state } = this.#live;
    const shared = (slot: string): boolean =>
      slot.startsWith("window/gradients") || slot === "window/loss" || slot === "window/poison";
    await state.write(await allReduce(await state.read(Object.keys(state.types).filter(shared))));
  }

  async #checkSkips(outputs: Outputs, feeds: readonly FedBatch[]): Promise<void> {
    const skips = number(outputs, "consecutiveSkips");
    if (skips <= this.#options.maxConsecutiveSkips) return;
    const feed = feeds.at(-1) as FedBatch;
    const { backend, definition } = this.#options;
    const program = trainProgram({ ...definition, accumulate: 1 }, this.#stateTypes, feed.types);
    const found = await diagnose(backend, this.#live.state, program, feed.inputs);
    const culprit =
      found === undefined ? "the last batch is finite by itself" : `first in ${formatAttribution(found)}`;
    throw new MpError(
      "MP_NON_FINITE",
      `step: ${skips} steps in a row were not finite and were skipped, ${culprit}`,
      {
        details: { skips, scale: number(outputs, "scale"), attribution: found },
      },
    );
  }

  /** @throws as `step`; undefined when the batch's step is finite. Reads the state and changes nothing. */
  diagnose(batch: unknown): ReturnType<typeof diagnose> {
    return this.#enqueue(() => {
      const feed = feedBatch(batch);
      return diagnose(this.#options.backend, this.#live.state, this.#trainProgram(feed), feed.inputs);
    });
  }

  #trainProgram(feed: FedBatch): Program {
    return trainProgram({ ...this.#options.definition, accumulate: 1 }, this.#stateTypes, feed.types);
  }

  evaluate(batch: unknown, options: { readonly modelState?: unknown } = {}): Promise<unknown> {
    return this.#enqueue(async () => {
      const feed = feedBatch(batch);
      const model = options.modelState === undefined ? undefined : feedBatch(options.modelState, "model");
      const trees = { batch: feed.types, ...(model === undefined ? {} : { model: model.types }) };
      const build = (): Program => evaluateProgram(this.#options.definition, this.#stateTypes, trees);
      const signature = model === undefined ? feed.signature : `${feed.signature} from ${model.signature}`;
      const program = await this.#live.compiled("evaluate", signature, build);
      const outputs = await program.executable.run({ ...feed.inputs, ...model?.inputs });
      return {
        loss: number(outputs, "loss"),
        metrics: metricsOf(outputs),
        modelState: outputTree(program.outputs["model"], "model", outputs),
      };
    });
  }

  predict(predict: PredictFunction, data: unknown): Promise<unknown> {
    return this.#enqueue(async () => {
      const feed = feedBatch(data, "data");
      const id = this.#predictors.get(predict) ?? this.#predictors.size;
      this.#predictors.set(predict, id);
      const build = (): Program =>
        predictProgram(this.#options.definition, this.#stateTypes, feed.types, predict);
      const { executable, outputs } = await this.#live.compiled(`predict ${id}`, feed.signature, build);
      return outputTree(outputs["result"], "result", await executable.run(feed.inputs));
    });
  }

  parameters(): Promise<unknown> {
    return this.#enqueue(async () => {
      const build = (): Program => parametersProgram(this.#options.definition, this.#stateTypes);
      const { executable, outputs } = await this.#live.compiled("parameters", "", build);
      return outputTree(outputs["parameters"], "parameters", await executable.run({}));
    });
  }

  modelState(): Promise<unknown> {
    return this.#enqueue(async () => {
      const types = (this.#stateTypes as { readonly model: TypeTree }).model;
      const slots = leavesOf(types, isValueType, "model").map(([path]) => fedName("model", path));
      return outputTree(types, "model", await this.#live.state.read(slots));
    });
  }

  counters(): Promise<Counters> {
    return this.#enqueue(async () => {
      const values = await this.#live.state.read(["applied", "iteration", "skipped"]);
      const build = (): Program => scaleProgram(this.#options.definition, this.#stateTypes);
      const { executable } = await this.#live.compiled("scale", "", build);
      return {
        applied: number(values, "applied"),
        iteration: number(values, "iteration"),
        skipped: number(values, "skipped"),
        scale: number(await executable.run({}), "scale"),
      };
    });
  }

  save(path: string, options: { readonly cursor?: Json } = {}): Promise<void> {
    return this.#enqueue(() => saveCheckpoint(path, this.#live.state, this.#info, options.cursor ?? null));
  }

  load(path: string): Promise<Json> {
    return this.#enqueue(() => loadCheckpoint(path, this.#live.state, this.#info));
  }

  graph(batch: unknown): Graph {
    const { definition } = this.#options;
    const { types } = feedBatch(batch);
    return this.#windowed
      ? accumulateProgram(definition, this.#stateTypes, types).graph
      : trainProgram(definition, this.#stateTypes, types).graph;
  }

  /** Waits for the calls under way, then frees everything; idempotent. */
  async dispose(): Promise<void> {
    await this.#queue;
    const engine = this.#engine;
    this.#engine = undefined;
    await engine?.dispose();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  get #live(): Engine {
    if (this.#engine === undefined)
      throw new MpError("MP_DISPOSED", "the trainer was disposed; build a new one with trainer(...)");
    return this.#engine;
  }

  get #info(): CheckpointInfo {
    const { definition } = this.#options;
    return { key: definition.key.path, precision: this.precision.name, optimizer: definition.optimizer.name };
  }

  #enqueue<T>(call: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(call);
    this.#queue = result.catch(() => undefined);
    return result;
  }

  #warn(warning: BackendWarning): void {
    if (this.warnings.some((known) => known.message === warning.message)) return;
    this.warnings.push(warning);
    this.#options.onWarning(warning);
  }
}

const typesOf = (tree: unknown, what: string): TypeTree =>
  mapTree(
    tree,
    isHostTensor,
    ({ dtype, shape }): ValueType => ({ dtype, shape }),
    what,
  ) as unknown as TypeTree;

const fed = (name: string, tree: unknown): Outputs =>
  Object.fromEntries(leavesOf(tree, isHostTensor, name).map(([path, leaf]) => [fedName(name, path), leaf]));

function number(outputs: Outputs, name: string): number {
  const value = outputs[name]?.data[0];
  if (value === undefined) throw new Error(`internal: the step has no output ${name}`);
  return Number(value);
}

const flag = (outputs: Outputs, name: string): boolean => number(outputs, name) !== 0;

function metricsOf(outputs: Outputs): Readonly<Record<string, number>> {
  const metrics: Record<string, number> = {};
  for (const name of Object.keys(outputs)) {
    if (name.startsWith("metrics/")) metrics[name.slice("metrics/".length)] = number(outputs, name);
  }
  return metrics;
}

/** Mean of scalar outputs over microbatches. */
function meanOf(outputs: readonly Outputs[]): Outputs {
  const names = Object.keys(outputs[0] ?? {});
  return Object.fromEntries(
    names.map((name) => {
      const sum = outputs.reduce((total, output) => total + number(output, name), 0);
      return [name, { dtype: "f32", shape: [], data: Float32Array.of(sum / outputs.length) } as const];
    }),
  );
}
