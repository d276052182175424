// A LayersModel as a layer, which calls its plan with the tensors of a trace.
import {
  foldIn,
  formatShape,
  type HostTensor,
  isTensor,
  type Key,
  type MapLeaves,
  MpError,
  type Shape,
  scope,
  type Tensor,
  type Tree,
} from "@mp/graph";
import { leafAt, nest } from "@mp/graph/internal";
import { randomBernoulli } from "@mp/graph/ops";
import type { Call, Plan } from "../plan.js";
import { quote, refuseArgument, refuseFile } from "../problem.js";
import type { ModelInput, ModelPlan } from "./model-plan.js";

/** Host tensors, nested by the names of layers, then of weights. */
export type TfjsTensors = Tree<HostTensor>;

/** `TfjsTensors` as a traced function sees it. */
export type TracedTfjsTensors = MapLeaves<TfjsTensors, HostTensor, Tensor>;

/** The context that a loss passes to the model. */
export interface TfjsContext {
  /** Whether dropout is active and normalization uses the batch's statistics. */
  readonly training: boolean;
  /** The random key of this step's dropout. */
  readonly key: Key;
  /** This model's part of the model state; needed only by a model with moving statistics. */
  readonly modelState?: unknown;
}

/** A LayersModel as a layer, for `sequential` of `@mp/nn` or a loss of your own. */
export interface TfjsModel {
  /** The model's name in the file. */
  readonly name: string;
  /** Names of the inputs that `apply` takes. */
  readonly inputs: readonly string[];
  /** Names of the outputs of `apply`: those of the layers that compute them. */
  readonly outputs: readonly string[];
  /** The names of parameters and statistics in the file, by path. */
  readonly weightNames: Readonly<Record<string, string>>;
  /** Paths of parameters in layers that the file marks as not trainable. */
  readonly frozen: readonly string[];
  /** The file's parameters in f32, in the file's layout; the key is ignored. */
  init(key?: Key): TfjsTensors;
  /** The file's moving statistics in f32; `{}` if it has none. */
  initState(): TfjsTensors;
  /** Takes inputs by name and returns outputs by name. @throws as the signature for one tensor */
  apply(
    parameters: TracedTfjsTensors,
    inputs: Readonly<Record<string, Tensor>>,
    context?: TfjsContext,
  ): readonly [outputs: Readonly<Record<string, Tensor>>, state: TracedTfjsTensors];
  /**
   * Takes the only input; returns the only output and the next moving statistics.
   * @throws MP_SHAPE_MISMATCH for an input with another shape than in the file, or one that an operator refuses
   * @throws MP_INVALID_ARGUMENT for a model with several inputs or outputs, and for a missing context or statistic
   */
  // The last signature is the one that TypeScript infers from, so that `predictor` takes a tensor.
  apply(
    parameters: TracedTfjsTensors,
    input: Tensor,
    context?: TfjsContext,
  ): readonly [output: Tensor, state: TracedTfjsTensors];
}

/** A weight of the file, with its path in the model. */
export interface PlacedWeight {
  readonly path: string;
  readonly name: string;
  readonly tensor: HostTensor;
  readonly isStatistic: boolean;
  readonly isFrozen: boolean;
}

interface Run {
  readonly parameters: TracedTfjsTensors;
  readonly context: TfjsContext | undefined;
  /** Statistics as updated by the layers called so far. */
  readonly followed: Map<string, Tensor>;
}

type Tensors = Readonly<Record<string, Tensor>>;

export function tfjsModel(name: string, plan: ModelPlan, weights: readonly PlacedWeight[]): TfjsModel {
  const inputs = plan.inputs.map((input) => input.name);
  const statistics = weights.filter(({ isStatistic }) => isStatistic);
  const parameters = weights.filter(({ isStatistic }) => !isStatistic);
  const toTree = (placed: readonly PlacedWeight[]): TfjsTensors =>
    nest(
      placed.map(({ path, tensor }) => [path, tensor]),
      clash,
    );
  const applyAll = (
    tree: TracedTfjsTensors,
    given: Tensors,
    context: TfjsContext | undefined,
  ): readonly [Tensors, TracedTfjsTensors] => {
    const run: Run = { parameters: tree, context, followed: new Map() };
    const tensors = plan.inputs.map((input) => checkInput(input, given[input.name] as Tensor));
    const made = toList(plan.run(layerCall(plan, run, [], tensors)));
    const outputs = Object.fromEntries(plan.outputs.map((output, at) => [output, made[at] as Tensor]));
    const state = context?.modelState ?? {};
    if (run.followed.size === 0) return [outputs, state as TracedTfjsTensors];
    const next = statistics.map(
      ({ path }) => [path, run.followed.get(path) ?? statisticAt(state, path)] as const,
    );
    return [outputs, nest(next, clash) as TracedTfjsTensors];
  };
  const apply = (
    tree: TracedTfjsTensors,
    given: Tensor | Tensors,
    context?: TfjsContext,
  ): readonly [unknown, TracedTfjsTensors] => {
    if (!isTensor(given)) return applyAll(tree, checkInputNames(inputs, given), context);
    const [input, ...moreInputs] = inputs;
    const [output, ...moreOutputs] = plan.outputs;
    if (input === undefined || output === undefined || moreInputs.length + moreOutputs.length > 0) {
      return refuseArgument(
        `the model takes ${inputs.map(quote).join(", ")} and gives ${plan.outputs.map(quote).join(", ")}; pass its inputs by name, { ${inputs[0]}: … }`,
      );
    }
    const [outputs, state] = applyAll(tree, { [input]: given }, context);
    return [outputs[output], state];
  };
  return {
    name,
    inputs,
    outputs: plan.outputs,
    weightNames: Object.fromEntries(weights.map((weight) => [weight.path, weight.name])),
    frozen: parameters.filter(({ isFrozen }) => isFrozen).map(({ path }) => path),
    init: () => toTree(parameters),
    initState: () => toTree(statistics),
    apply: apply as TfjsModel["apply"],
  };
}

const clash = (path: string): never => refuseFile(`two weights are named ${quote(path)}`);

const toList = (made: Tensor | readonly Tensor[]): readonly Tensor[] => (isTensor(made) ? [made] : made);

function layerCall(plan: Plan, run: Run, place: readonly string[], inputs: readonly Tensor[]): Call {
  const { context, followed, parameters } = run;
  const pathTo = (name: string): string => [...place, name].join("/");
  let masks = 0;
  return {
    inputs,
    training: context?.training === true,
    weight: (name) => {
      const found = leafAt(parameters, pathTo(name));
      if (isTensor(found)) return found;
      return refuseArgument(`the parameter ${quote(pathTo(name))} is missing; the tree is that of init()`);
    },
    statistic: (name) => followed.get(pathTo(name)) ?? statisticAt(context?.modelState, pathTo(name)),
    follow: (name, next) => void followed.set(pathTo(name), next),
    dropoutMask: (rate, shape) => dropoutMask(context, [...place, String(masks++)], rate, shape),
    child: (name, tensors) => {
      const child = plan.children?.find((each) => each.name === name)?.plan;
      if (child === undefined) throw new Error(`internal: no layer ${name}`);
      return scope(name, () => toList(child.run(layerCall(child, run, [...place, name], tensors))));
    },
  };
}

function statisticAt(state: unknown, path: string): Tensor {
  const found = leafAt(state, path);
  if (isTensor(found)) return found;
  return refuseArgument(
    `the moving statistics ${quote(path)} are missing: pass { ...context, modelState: this model's part }, which initState() began and the trainer was given`,
  );
}

function dropoutMask(
  context: TfjsContext | undefined,
  place: readonly string[],
  rate: number,
  shape: Shape,
): Tensor {
  if (context === undefined) return refuseArgument("a dropout in training needs the loss's context");
  return randomBernoulli(place.reduce(foldIn, context.key), 1 - rate, shape);
}

/** Returns `given`. @throws MP_SHAPE_MISMATCH unless it has the input's shape, in which null fits any size */
function checkInput({ name, shape }: ModelInput, given: Tensor): Tensor {
  const fits =
    shape === undefined ||
    (shape.length === given.shape.length &&
      shape.every((size, axis) => size === null || size === given.shape[axis]));
  if (fits) return given;
  throw new MpError(
    "MP_SHAPE_MISMATCH",
    `fromTfjs: input ${quote(name)} must be [${shape.map((size) => size ?? "?").join(", ")}], got ${formatShape(given.shape)}`,
    { details: { input: name, shape: [...given.shape] } },
  );
}

function checkInputNames(inputs: readonly string[], given: Tensors): Tensors {
  const takes = `the model takes ${inputs.map(quote).join(", ")}`;
  for (const name of inputs)
    if (!isTensor(given?.[name])) refuseArgument(`input ${quote(name)} is no tensor; ${takes}`);
  const unknown = Object.keys(given).find((name) => !inputs.includes(name));
  if (unknown !== undefined) refuseArgument(`there is no input ${quote(unknown)}; ${takes}`);
  return given;
}
