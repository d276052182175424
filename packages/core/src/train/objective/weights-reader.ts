import { checkOptions, type OptionNames } from "@mp/graph/internal";
import type { FlatBatch } from "../batch/batch.js";
import { checkFunction } from "../batch/check-parts.js";
import { ByFunction } from "../compile/by-function.js";
import type { CompiledPrograms } from "../compile/compiled-programs.js";
import { outputTree, type Program, type TypeTree } from "../definition/traced-program.js";
import type { PredictFunction } from "../definition/user-function.js";
import type { TrainingWarning } from "../definition/warning.js";
import { parametersProgram, predictProgram } from "../programs/reading-programs.js";
import { readsAverage, type WeightsChoice } from "../weights/average.js";
import type { StepPhase } from "./stepper.js";

const WEIGHTS: OptionNames<WeightsChoice> = { weights: true };

/** Reads the weights of a run, or applies functions to them, without changing them. */
export class WeightsReader {
  readonly #programs: CompiledPrograms;
  readonly #phase: () => StepPhase;
  readonly #state: TypeTree;
  readonly #ids: ByFunction<PredictFunction, number>;

  /** @param phase of the first objective's next step; the parameters are the same in all objectives */
  constructor(
    programs: CompiledPrograms,
    phase: () => StepPhase,
    state: TypeTree,
    warn: (warning: TrainingWarning) => void,
  ) {
    this.#programs = programs;
    this.#phase = phase;
    this.#state = state;
    this.#ids = new ByFunction("predict", warn, (id) => id);
  }

  /** Checks the arguments and returns a function that runs `predict` on a batch. @throws MP_INVALID_ARGUMENT */
  predictor(predict: PredictFunction, options: WeightsChoice): (feed: FlatBatch) => Promise<unknown> {
    checkFunction("predict", predict);
    const average = this.#readsAverage("predict", options);
    return async (feed) => {
      const state = { state: this.#state, average };
      const { definition, suffix } = this.#phase();
      const build = (): Program => predictProgram(definition, state, feed.types(), predict);
      const kind = `predict ${this.#ids.of(predict)}${average ? " from the average" : ""}${suffix}`;
      const { executable, outputs } = await this.#programs.findOrCompile(kind, feed.signature, build);
      return outputTree(outputs["result"], "result", await executable.run(feed.inputs));
    };
  }

  /** Checks the options and returns a function that reads the parameters. @throws MP_INVALID_ARGUMENT */
  parameters(options: WeightsChoice): () => Promise<unknown> {
    const average = this.#readsAverage("parameters", options);
    return async () => {
      const { definition } = this.#phase();
      const build = (): Program => parametersProgram(definition, { state: this.#state, average });
      const kind = average ? "parameters of the average" : "parameters";
      const { executable, outputs } = await this.#programs.findOrCompile(kind, "", build);
      return outputTree(outputs["parameters"], "parameters", await executable.run({}));
    };
  }

  #readsAverage(what: string, options: WeightsChoice): boolean {
    checkOptions(what, options, WEIGHTS, '{ weights: "ema" }');
    return readsAverage(what, options, this.#phase().definition.ema);
  }
}
