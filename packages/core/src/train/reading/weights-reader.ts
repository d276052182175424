import { checkOptions, type OptionNames } from "../../options.js";
import { checkFunction } from "../checks/check-parts.js";
import type { FedBatch } from "../data/batch.js";
import type { StepDefinition } from "../definition.js";
import { ByFunction } from "../program/by-function.js";
import { outputTree, type Program, type TypeTree } from "../program/program.js";
import type { ProgramCache } from "../program/program-cache.js";
import type { TrainingWarning } from "../warning.js";
import { readsAverage, type WeightsChoice } from "../weights/average.js";
import { parametersProgram, predictProgram } from "./reading-programs.js";
import type { PredictFunction } from "./user-function.js";

const WEIGHTS: OptionNames<WeightsChoice> = { weights: true };

/** Reads the weights of a run, or what functions make of them; changes nothing. */
export class WeightsReader {
  readonly #programs: ProgramCache;
  readonly #definition: StepDefinition;
  readonly #state: TypeTree;
  readonly #ids: ByFunction<PredictFunction, number>;

  /** @param definition that of the first objective: all have the same parameters */
  constructor(
    programs: ProgramCache,
    definition: StepDefinition,
    state: TypeTree,
    warn: (warning: TrainingWarning) => void,
  ) {
    this.#programs = programs;
    this.#definition = definition;
    this.#state = state;
    this.#ids = new ByFunction("predict", warn, (id) => id);
  }

  /** Checks the arguments; the result runs the function on a batch. @throws MP_INVALID_ARGUMENT */
  predictor(predict: PredictFunction, options: WeightsChoice): (feed: FedBatch) => Promise<unknown> {
    checkFunction("predict", predict);
    const average = this.#readsAverage("predict", options);
    return async (feed) => {
      const state = { state: this.#state, average };
      const build = (): Program => predictProgram(this.#definition, state, feed.types(), predict);
      const kind = `predict ${this.#ids.of(predict)}${average ? " from the average" : ""}`;
      const { executable, outputs } = await this.#programs.compiled(kind, feed.signature, build);
      return outputTree(outputs["result"], "result", await executable.run(feed.inputs));
    };
  }

  /** Checks the options; the result reads the parameters. @throws MP_INVALID_ARGUMENT */
  parameters(options: WeightsChoice): () => Promise<unknown> {
    const average = this.#readsAverage("parameters", options);
    return async () => {
      const build = (): Program => parametersProgram(this.#definition, { state: this.#state, average });
      const kind = average ? "parameters of the average" : "parameters";
      const { executable, outputs } = await this.#programs.compiled(kind, "", build);
      return outputTree(outputs["parameters"], "parameters", await executable.run({}));
    };
  }

  #readsAverage(what: string, options: WeightsChoice): boolean {
    checkOptions(what, options, WEIGHTS, '{ weights: "ema" }');
    return readsAverage(what, options, this.#definition.ema);
  }
}
