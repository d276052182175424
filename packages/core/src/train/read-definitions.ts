import { isHostTensor, leavesOf } from "@mp/graph";
import {
  checks,
  invalid,
  isPlainObject,
  keyProblem,
  later,
  type OptionTable,
  readOptions,
  shown,
} from "@mp/graph/internal";
import { normLimit } from "../optim/clip.js";
import { scalerPart } from "../precision/check-precision.js";
import { checkScales, optimizerPart } from "./batch/check-parts.js";
import type { FitPosition } from "./callbacks/callback.js";
import type { AnyLoss, Definitions, StepDefinition } from "./definition/definition.js";
import { hasObjectives, type Objective, type ObjectivesOptions, type TrainerOptions } from "./options.js";
import { frozenPaths, readMask } from "./weights/frozen.js";

/** Settings that all objectives of a run share. */
export type CommonDefinition = Omit<
  StepDefinition,
  "objective" | "loss" | "optimizer" | "frozen" | "clipNorm"
>;

type Single = TrainerOptions<unknown, unknown, unknown>;
type Several = ObjectivesOptions<unknown, unknown, unknown, Readonly<Record<string, AnyObjective>>>;
type AnyObjective = Objective<unknown, unknown, unknown>;

/** Reads the definitions from options whose other settings have been checked. @throws MP_INVALID_ARGUMENT */
export function readDefinitions(options: Single | Several, common: CommonDefinition): Definitions {
  if (hasObjectives(options)) return readObjectives(options, common);
  const { params, loss, optimizer, frozen, clipNorm } = options;
  checkScales(common.precision.lossScaler);
  return [
    {
      ...common,
      loss: loss as unknown as AnyLoss,
      optimizer,
      frozen: frozenPaths(params, frozen),
      clipNorm,
    },
  ];
}

const OBJECTIVE = {
  loss: checks.callback,
  params: later,
  optimizer: optimizerPart,
  scaler: checks.optional(scalerPart),
  clipNorm: checks.optional(normLimit),
} satisfies OptionTable<AnyObjective>;

/** Names that objectives must not have: a step of `fit` has these properties beside its results. */
const TAKEN: Readonly<Record<keyof FitPosition, true>> = {
  step: true,
  epoch: true,
  batches: true,
  milliseconds: true,
};

function readObjectives({ params, frozen, objectives }: Several, common: CommonDefinition): Definitions {
  const all = readNames(objectives);
  const untrained = readMask("frozen", params, frozen);
  const paths = leavesOf(params, isHostTensor, "params").map(([path]) => path);
  const trainedBy = new Map<string, string>();
  const definitions = all.map((name): StepDefinition => {
    const what = `objectives: ${name}`;
    const objective = objectives[name] as AnyObjective;
    const { loss, optimizer, scaler, clipNorm } = readOptions(`trainer: ${what}`, objective, OBJECTIVE, {
      example: "{ loss, params, optimizer }",
    });
    const trained = selectTrained(`${what}: params`, params, objective.params, untrained);
    for (const path of trained) {
      const other = trainedBy.get(path);
      if (other !== undefined)
        throw invalid(
          `objectives: ${other} and ${name} both train ${path}; a parameter has one optimizer: add their losses in one objective`,
        );
      trainedBy.set(path, name);
    }
    const lossScaler = scaler ?? common.precision.lossScaler;
    checkScales(lossScaler);
    return {
      ...common,
      precision: { ...common.precision, lossScaler },
      objective: { name, all },
      loss: loss as unknown as AnyLoss,
      optimizer,
      frozen: new Set(paths.filter((path) => !trained.has(path))),
      clipNorm,
    };
  });
  return definitions as [StepDefinition, ...StepDefinition[]];
}

function readNames(objectives: unknown): readonly string[] {
  const names = isPlainObject(objectives) ? Object.keys(objectives) : [];
  if (names.length === 0) {
    throw invalid(
      `objectives: must be an object of losses by name, { d: { loss, params, optimizer } }, got ${shown(objectives)}`,
    );
  }
  for (const name of names) {
    const problem = Object.hasOwn(TAKEN, name) ? "is a property of a step of fit" : keyProblem(name);
    if (problem !== undefined) throw invalid(`objectives: the name ${JSON.stringify(name)} ${problem}`);
  }
  return names;
}

function selectTrained(
  what: string,
  params: unknown,
  mask: unknown,
  untrained: ReadonlySet<string>,
): ReadonlySet<string> {
  const paths = [...readMask(what, params, mask)].filter((path) => !untrained.has(path));
  if (paths.length > 0) return new Set(paths);
  throw invalid(
    `${what}: names no parameter to train; it is a tree such as { generator: true }, and what is frozen does not count`,
  );
}
