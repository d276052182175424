import { type HostTensor, MpError } from "@mp/graph";
import { checks, readOptions } from "@mp/graph/internal";
import type { Plan } from "../plan.js";
import { quote, refuseFile } from "../problem.js";
import { readText } from "./files.js";
import { type ScopeName, weightFinder } from "./find-weight.js";
import { readLayer } from "./read-layer.js";
import { readWeights } from "./read-weights.js";
import { type PlacedWeight, type TfjsModel, tfjsModel } from "./tfjs-model.js";
import { parseModel } from "./topology.js";

export interface FromTfjsOptions {
  /**
   * Names of the layers whose results the model returns: `["features"]` removes all later layers and their weights.
   * Default: the outputs of the file.
   */
  readonly outputs?: readonly string[];
}

const OPTIONS = {
  outputs: checks.optional(
    checks.claim("a list of names of layers, each once", (given) => {
      if (!Array.isArray(given) || given.length === 0) return false;
      return new Set(given).size === given.length && given.every((name) => typeof name === "string");
    }),
  ),
};

/**
 * Reads a LayersModel of TensorFlow.js, or of Keras as the converter writes it, as a model to train that computes the
 * same. Its weights are parameters, nested by the names of layers; moving statistics are its state.
 * @throws MP_INVALID_ARGUMENT for an invalid path, an unknown option or layer; MP_IO for files that cannot be read
 * @throws MP_PARSE for a file that is not a well-formed LayersModel, and for weights outside of its folder
 * @throws MP_UNSUPPORTED for a GraphModel, and for a layer that cannot be read, such as a `Lambda`, naming it
 */
export async function fromTfjs(pathToModelJson: string, options: FromTfjsOptions = {}): Promise<TfjsModel> {
  checks.path("fromTfjs: the path", pathToModelJson);
  const { outputs } = readOptions("fromTfjs", options, OPTIONS, { example: '{ outputs: ["features"] }' });
  const { name, plan, weightsManifest } = parseModel(
    pathToModelJson,
    await readText(pathToModelJson),
    readLayer,
  );
  const tensors = await readWeights(pathToModelJson, weightsManifest);
  const weights = placeWeights(plan, tensors);
  if (outputs === undefined) return tfjsModel(name, plan, weights);
  const cut = plan.upTo(outputs);
  const kept = new Set(cut.children?.map((child) => child.name));
  const isKept = ({ path }: PlacedWeight): boolean => kept.has(path.split("/", 1)[0] as string);
  return tfjsModel(name, cut, weights.filter(isKept));
}

/** Matches the weights of the model with tensors. @throws MP_PARSE for a weight or a tensor without a match */
function placeWeights(plan: Plan, tensors: ReadonlyMap<string, HostTensor>): readonly PlacedWeight[] {
  expectNames([...tensors.keys()]);
  const find = weightFinder(tensors.keys());
  const weights = [...weightPlaces(plan, [], [], false)].map(({ scopes, variables, ...place }) => {
    const name = find({ scopes, variables });
    return { ...place, name, tensor: tensors.get(name) as HostTensor };
  });
  const used = new Set(weights.map(({ name }) => name));
  const left = [...tensors.keys()].filter((name) => !used.has(name));
  if (left.length > 0) refuseFile(`no layer takes the weight ${left.slice(0, 5).map(quote).join(", ")}`);
  return weights;
}

/** Refuses weights that the converter took from a `.keras` file: it numbers them, instead of naming them by layers. */
function expectNames(names: readonly string[]): void {
  if (names.length === 0 || !names.every((name) => /(^|\/)vars\/\d+$/.test(name))) return;
  throw new MpError(
    "MP_UNSUPPORTED",
    `fromTfjs: the weights are numbered, ${quote(names[0] ?? "")}, as the converter does it for a .keras file; save the model as .h5 and convert that, --input_format=keras`,
    { details: { weight: names[0] } },
  );
}

interface WeightPlace extends Omit<PlacedWeight, "name" | "tensor"> {
  readonly scopes: readonly ScopeName[];
  readonly variables: readonly string[];
}

function* weightPlaces(
  plan: Plan,
  scopes: readonly ScopeName[],
  path: readonly string[],
  isFrozenAbove: boolean,
): Generator<WeightPlace> {
  const isFrozen = isFrozenAbove || plan.isFrozen === true;
  const groups = [
    { names: plan.weights, isStatistic: false },
    { names: plan.statistics, isStatistic: true },
  ];
  for (const { names = {}, isStatistic } of groups)
    for (const [name, variables] of Object.entries(names))
      yield { scopes, variables, path: [...path, name].join("/"), isStatistic, isFrozen };
  const isModel = "inputs" in plan;
  for (const { name, plan: child, isNamedByParent } of plan.children ?? []) {
    // A weight's name may lack the name of the model, and the name of a layer in a wrapper.
    const above = isModel ? scopes.map((scope) => ({ ...scope, isOptional: true })) : scopes;
    const scope = { name, isOptional: isNamedByParent === true };
    yield* weightPlaces(child, [...above, scope], [...path, name], isFrozen);
  }
}
