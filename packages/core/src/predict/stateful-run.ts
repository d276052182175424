/** A model that serves with a state of its own: each run reads it and replaces it, as generation does with its cache. */
import {
  type Backend,
  type HostTensor,
  isFloat,
  key,
  mapTensors,
  type Tensor,
  type TensorTree,
} from "@mp/graph";
import { allFinite, cast, literal } from "@mp/graph/ops";
import { usablePrecision } from "../precision/choose-precision.js";
import type { Precision, PrecisionChoice } from "../precision/presets.js";
import { feedBatch } from "../train/batch/batch.js";
import { CallQueue } from "../train/compile/call-queue.js";
import { CompiledPrograms } from "../train/compile/compiled-programs.js";
import { type Program, traceProgram } from "../train/definition/traced-program.js";
import { type PredictFunction, underPolicy } from "../train/definition/user-function.js";
import type { TrainingWarning } from "../train/definition/warning.js";
import { eachOnce } from "../train/objective/each-once.js";
import { type KeptWeights, keepWeights, MODEL, WEIGHTS } from "./kept-weights.js";

/** Traced: the results, which the host reads, and the next state, in the structure of the one in `context.modelState`. */
export type StatefulFunction = (...given: Parameters<PredictFunction>) => {
  readonly results: TensorTree;
  readonly state: TensorTree;
};

export interface StatefulRunOptions {
  /** The function that makes the run, for messages. */
  readonly owner: string;
  readonly backend: Backend;
  readonly precision: PrecisionChoice;
  readonly params: unknown;
  /** Tensors in f32. */
  readonly state: unknown;
  /** Programs kept. */
  readonly programs: number;
  readonly onWarning: (warning: TrainingWarning) => void;
}

/** The results of a run; where one of them is not finite, the state stays as it was. */
export interface StatefulResult {
  readonly results: Readonly<Record<string, HostTensor>>;
  readonly areFinite: boolean;
}

/** Weights and a state on an engine, and the programs compiled over them, in one queue of calls. */
export class StatefulRun {
  readonly #precision: Precision;
  readonly #types: KeptWeights["types"];
  readonly #programs: CompiledPrograms;
  readonly #calls: CallQueue;

  private constructor(
    precision: Precision,
    types: KeptWeights["types"],
    programs: CompiledPrograms,
    calls: CallQueue,
  ) {
    this.#precision = precision;
    this.#types = types;
    this.#programs = programs;
    this.#calls = calls;
  }

  /** @throws as `predictor`, of parameters and precision */
  static async start(options: StatefulRunOptions): Promise<StatefulRun> {
    const { owner, backend, precision: choice, params, state: modelState, programs, onWarning } = options;
    const precision = usablePrecision(owner, choice, backend.manifest);
    const warn = eachOnce(onWarning, []);
    // Before there is a state, which would have to be freed if `onWarning` throws.
    for (const warning of precision.warnings ?? []) warn(warning);
    const { types, slots } = await keepWeights(backend, precision, { params, modelState });
    const cache = new CompiledPrograms(backend, await backend.createState(slots), programs, warn);
    return new StatefulRun(precision, types, cache, new CallQueue(owner));
  }

  /** Runs the function, compiled once for each name, after the runs before it. @throws MP_DISPOSED */
  async run(name: string, model: StatefulFunction, data: unknown): Promise<StatefulResult> {
    this.#calls.expectOpen();
    const feed = feedBatch(data, "data", undefined);
    return this.#calls.add(async () => {
      const build = (): Program => this.#program(model, feed.types());
      const { executable } = await this.#programs.findOrCompile(name, feed.signature, build);
      const { applied, ...results } = await executable.run(feed.inputs);
      return { results, areFinite: applied?.data[0] !== 0 };
    });
  }

  /** Waits for pending runs, then frees everything; idempotent. */
  dispose(): Promise<void> {
    return this.#calls.close(() => this.#programs.dispose());
  }

  #program(model: StatefulFunction, data: Parameters<typeof traceProgram>[0]["state"] & object): Program {
    return traceProgram({ state: this.#types, fed: { data } }, (state, fed) => {
      const { [WEIGHTS]: weights, [MODEL]: modelState } = state as Record<
        keyof KeptWeights["types"],
        TensorTree
      >;
      const context = { training: false, key: key(0), modelState, step: literal(0, "i32") };
      const run = underPolicy(model as unknown as PredictFunction, "the data", context, {
        policy: this.#precision.policy,
        manifest: this.#programs.backend.manifest,
      });
      const made = run(weights, fed["data"] as TensorTree) as unknown as ReturnType<StatefulFunction>;
      const results = mapTensors(inF32, made.results);
      return {
        state: { [MODEL]: mapTensors(inF32, made.state) },
        outputs: { ...(results as Readonly<Record<string, TensorTree>>), applied: allFinite(results) },
      };
    });
  }
}

const inF32 = (leaf: Tensor): Tensor =>
  isFloat(leaf.dtype) && leaf.dtype !== "f32" ? cast(leaf, "f32") : leaf;
