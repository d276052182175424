// A file's model as a layer. For each set of input shapes its graph is read once, in the form for training or for
// evaluation (normalizations, dropouts), and then called in the trace.

import { dropIdleCasts } from "@mp/core/graph";
import type { OutputAxis } from "@mp/core/optim";
import {
  applyGraph,
  decodeArray,
  elementCount,
  foldIn,
  type Graph,
  type HostTensor,
  isFloat,
  type Key,
  type MapLeaves,
  MpError,
  type Tensor,
  type Tree,
  tensor,
  type Value,
} from "@mp/graph";
import { leafAt, nest } from "@mp/graph/internal";
import { add, cast, mul } from "@mp/graph/ops";
import type { OnnxModel, OnnxValueInfo } from "../model.js";
import { quote } from "../problem.js";
import { foldsToFollow } from "../read/fold-decisions.js";
import { GraphReader } from "../read/graph-reader.js";
import type { InitializerRole } from "../read/initializer-roles.js";
import type { Draw } from "../read/node/node-reader.js";
import { randomNumbers } from "../read/random.js";
import type { InnerReadOptions } from "../read/read-options.js";
import type { Warn } from "../read/read-warnings.js";
import { expectWithin, type ReadLimits } from "../read-limits.js";
import { type AdaptedGraph, besideWeights } from "./beside-weights.js";
import { bindSizes } from "./bind-sizes.js";
import { invalid } from "./invalid.js";
import { type LinearWeight, linearWeights, outputAxes } from "./linear-weights.js";
import { fileNames } from "./names-in-file.js";
import { batchMean, batchVariance, type Statistics, withStatistics } from "./training-nodes.js";

/** Host tensors, nested by the parts of their names in the file. */
export type OnnxTensors = Tree<HostTensor>;

/** `OnnxTensors` as a traced function sees it. */
export type TracedOnnxTensors = MapLeaves<OnnxTensors, HostTensor, Tensor>;

/** The context that a loss passes to the model. */
export interface OnnxContext {
  /** Whether dropouts act and normalizations use the batch's statistics. */
  readonly training: boolean;
  /** The random stream of this step's dropouts. */
  readonly key: Key;
  /** This model's part of the model state; only for a model with running statistics. */
  readonly modelState?: unknown;
}

/** The model of an ONNX file as a trainable layer. Call it in a loss, or put it into `sequential` of `@mp/nn`. */
export interface TrainableModel {
  /** The graph's name in the file. */
  readonly name: string;
  /** Names of the inputs that `apply` takes. */
  readonly inputs: readonly string[];
  /** Names of the outputs that `apply` gives. */
  readonly outputs: readonly string[];
  /** The path of each parameter, such as `layer1/0/conv1/weight`, by the name of its initializer. */
  readonly paths: Readonly<Record<string, string>>;
  /** Every float initializer: whether it is trained, and why. */
  readonly initializers: readonly InitializerRole[];
  /** Weights of `MatMul` and `Gemm` to which `lora` of `@mp/nn/adapters` can add adapters. */
  readonly linearLayers: readonly LinearWeight[];
  /** The output axis of a weight, by its path in the parameters, for `muon`; undefined if not in the file. */
  readonly outputAxis: OutputAxis;
  /** The default targets of `lora`. */
  readonly targets: "all-linear";
  /** The parameters, f16 and bf16 as f32; the key is ignored. @throws MP_INVALID_ARGUMENT for equal names */
  init(key?: Key): OnnxTensors;
  /** The file's running statistics in f32; `{}` if there are none. */
  initState(): OnnxTensors;
  /** Returns the outputs by name, given the inputs by name. @throws like the signature for one tensor */
  apply(
    parameters: TracedOnnxTensors,
    inputs: Readonly<Record<string, Tensor>>,
    context?: OnnxContext,
  ): readonly [outputs: Readonly<Record<string, Tensor>>, state: TracedOnnxTensors];
  /**
   * Returns the only output, given the only input, and the next running statistics. The input's shape
   * determines the sizes that the file leaves open, so each new shape needs a new graph.
   * @throws MP_SHAPE_MISMATCH, MP_DTYPE_MISMATCH for a tensor that the file does not accept
   * @throws MP_INVALID_ARGUMENT for a model with several inputs or outputs, and for a missing context or
   * statistic
   * @throws MP_UNSUPPORTED naming operator, version and node, for a node that cannot be read
   */
  // TypeScript infers from the last of several signatures, so that `predictor` takes a tensor.
  apply(
    parameters: TracedOnnxTensors,
    input: Tensor,
    context?: OnnxContext,
  ): readonly [output: Tensor, state: TracedOnnxTensors];
}

/** A decoded model and the facts that `fromOnnx` derived from it. */
export interface Trainable {
  readonly model: OnnxModel;
  /** The model's inputs, without initializers. */
  readonly inputs: readonly OnnxValueInfo[];
  readonly parameters: ReadonlyMap<string, HostTensor>;
  readonly statistics: readonly Statistics[];
  /** The tree path of each parameter and statistic, by name. */
  readonly paths: ReadonlyMap<string, string>;
  readonly statisticTensors: ReadonlyMap<string, HostTensor>;
  readonly roles: readonly InitializerRole[];
  readonly warn: Warn;
  readonly limits: ReadLimits;
}

interface Read {
  readonly graph: Graph;
  readonly draws: ReadonlyMap<string, Draw>;
}

/** Number of graphs that are cached; a trainer caches as many compiled steps. */
const MAX_READ = 8;

type Tensors = Readonly<Record<string, Tensor>>;

export function trainableModel(found: Trainable): TrainableModel {
  const { model, inputs, parameters, statistics, statisticTensors, paths } = found;
  const outputNames = model.graph.outputs.map(({ name }) => name);
  const linear = linearWeights(model.graph, parameters);
  const read = new Map<string, Read>();
  const readFor = (given: Tensors, training: boolean, adapted: AdaptedGraph): Read => {
    const sizes = bindSizes(inputs, given);
    const narrow = inputs.filter(({ name }) => given[name]?.dtype === "i32").map(({ name }) => name);
    const options = { sizes, narrowInputs: new Set(narrow) };
    const folds = foldsToFollow(model);
    if (folds !== undefined) return readModel(found, adapted, { ...options, folds }, training);
    const key = JSON.stringify([training, sizes, narrow, adapted.form]);
    const known = read.get(key) ?? readModel(found, adapted, options, training);
    read.delete(key);
    read.set(key, known);
    for (const oldest of read.keys()) if (read.size > MAX_READ) read.delete(oldest);
    return known;
  };
  const applyAll = (
    tree: TracedOnnxTensors,
    given: Tensors,
    context: OnnxContext | undefined,
  ): readonly [Tensors, TracedOnnxTensors] => {
    const adapted = besideWeights(found, linear, tree);
    const { graph, draws } = readFor(given, context?.training === true, adapted);
    const state = context?.modelState;
    const of = (name: string, value: Value): Tensor => {
      const draw = draws.get(name);
      if (draw !== undefined) return drawNumbers(context, name, draw, value);
      if (Object.hasOwn(given, name)) return inDType(given[name] as Tensor, value, name);
      const path = paths.get(name) ?? name;
      const isState = statisticTensors.has(name);
      const leaf = adapted.tensors.get(name) ?? leafAt(isState ? state : tree, path);
      const tensor = leaf ?? invalid(lacks(isState, path));
      return inDType(tensor as Tensor, value, name);
    };
    const values = Object.fromEntries(graph.inputs.map(({ name, value }) => [name, of(name, value)]));
    const results = applyGraph(graph, values);
    const outputs = Object.fromEntries(outputNames.map((name) => [name, results[name] as Tensor]));
    if (statistics.length === 0) return [outputs, {}];
    if (context?.training !== true) return [outputs, (state ?? {}) as TracedOnnxTensors];
    return [outputs, nextState(found, graph, results, state)];
  };
  const apply = (
    tree: TracedOnnxTensors,
    given: Tensor | Tensors,
    context?: OnnxContext,
  ): readonly [unknown, TracedOnnxTensors] => {
    if (!isTensor(given)) return applyAll(tree, checkInputs(inputs, given), context);
    const [input, ...moreInputs] = inputs;
    const [output, ...moreOutputs] = outputNames;
    if (input === undefined || output === undefined || moreInputs.length + moreOutputs.length > 0) {
      return invalid(
        `the model takes ${inputs.map(({ name }) => quote(name)).join(", ")} and gives ${outputNames.map(quote).join(", ")}; pass its inputs by name, { ${inputs[0]?.name}: … }`,
      );
    }
    const [outputs, state] = applyAll(tree, { [input.name]: given }, context);
    return [outputs[output], state];
  };
  const hostTree = (tensors: ReadonlyMap<string, HostTensor>): OnnxTensors =>
    nest(
      [...tensors].map(([name, tensor]) => [paths.get(name) ?? name, asF32(tensor)]),
      clash,
    );
  const byPath = (names: Iterable<string>): ReadonlyMap<string, string> =>
    new Map([...names].map((name) => [paths.get(name) ?? name, name]));
  const parameterNames = byPath(parameters.keys());
  const axes = outputAxes(model.graph, linear);
  const trainable: TrainableModel = {
    name: model.graph.name === "" ? "onnx" : model.graph.name,
    inputs: inputs.map(({ name }) => name),
    outputs: outputNames,
    paths: Object.fromEntries([...parameters.keys()].map((name) => [name, paths.get(name) ?? name])),
    initializers: found.roles,
    linearLayers: [...linear.weights].map(([name, each]) => ({ path: paths.get(name) ?? name, ...each })),
    outputAxis: (path) => axes.get(parameterNames.get(path) ?? ""),
    targets: "all-linear",
    init: () => hostTree(parameters),
    initState: () => hostTree(statisticTensors),
    apply: apply as TrainableModel["apply"],
  };
  fileNames.set(trainable, {
    parameters: parameterNames,
    statistics: byPath(statisticTensors.keys()),
    inputs: trainable.inputs,
    outputs: outputNames,
  });
  return trainable;
}

function readModel(
  { model, parameters, statistics, statisticTensors, warn, limits }: Trainable,
  adapted: AdaptedGraph,
  options: Pick<InnerReadOptions, "sizes" | "narrowInputs" | "folds">,
  training: boolean,
): Read {
  const graph = withStatistics(adapted.graph, statistics, training ? "batch" : "running");
  const isParameter = (name: string): boolean =>
    parameters.has(name) || statisticTensors.has(name) || adapted.tensors.has(name);
  const reader = new GraphReader(
    { ...model, graph },
    { ...options, isParameter, dropsOut: training, drawsAreInputs: true, onWarning: warn },
  );
  const read = reader.read();
  expectWithin(read, limits);
  // PyTorch's exporter writes casts to a value's own dtype; a casting policy would take them for the user's casts.
  return { graph: dropIdleCasts(read), draws: reader.draws };
}

const isTensor = (given: Tensor | Tensors | undefined): given is Tensor =>
  typeof (given as Partial<Tensor> | null | undefined)?.dtype === "string" && Array.isArray(given?.shape);

function checkInputs(inputs: readonly OnnxValueInfo[], given: Tensors): Tensors {
  const names = inputs.map(({ name }) => name);
  const missing = names.find((name) => !Object.hasOwn(given ?? {}, name));
  const unknown = Object.keys(given ?? {}).find((name) => !names.includes(name));
  if (missing === undefined && unknown === undefined) {
    for (const name of names) if (!isTensor(given[name])) invalid(`input ${quote(name)} is no tensor`);
    return given;
  }
  const what =
    missing === undefined
      ? `there is no input ${quote(unknown ?? "")}`
      : `input ${quote(missing)} is missing`;
  return invalid(`${what}; the model takes ${names.map(quote).join(", ")}`);
}

/** Casts to the dtype in the file, since callers hold f16 and bf16 parameters in f32, and may pass any float dtype. */
function inDType(given: Tensor, { dtype }: Value, name: string): Tensor {
  if (!isTensor(given)) return invalid(`the parameter or statistic of ${quote(name)} is no tensor`);
  if (given.dtype === dtype) return given;
  if (isFloat(dtype) && isFloat(given.dtype)) return cast(given, dtype);
  throw new MpError(
    "MP_DTYPE_MISMATCH",
    `fromOnnx: input ${quote(name)} must be ${dtype}, got ${given.dtype}`,
  );
}

function drawNumbers(context: OnnxContext | undefined, name: string, draw: Draw, { shape }: Value): Tensor {
  if (context === undefined)
    return invalid(
      `${quote(name)} is random, so apply must get the loss's context: apply(params, x, context)`,
    );
  return randomNumbers(foldIn(context.key, name), draw, shape);
}

/** Updates the running statistics with those of the batch, using the unbiased variance, as PyTorch does. */
function nextState(
  { statistics, paths }: Trainable,
  graph: Graph,
  results: Tensors,
  state: unknown,
): TracedOnnxTensors {
  const counts = new Map(
    graph.nodes.flatMap(({ op, inputs, outputs }) => {
      const [{ shape = [] } = {}] = inputs;
      return op === "BatchNormalization" ? [[outputs[1], elementCount(shape, op) / (shape[1] ?? 1)]] : [];
    }),
  );
  const next = new Map<string, Tensor>();
  const follow = (name: string, now: Tensor, momentum: number, share: number): void => {
    const path = paths.get(name) ?? name;
    const running =
      next.get(path) ?? (leafAt(state, path) as Tensor | undefined) ?? invalid(lacks(true, path));
    next.set(path, add(mul(running, momentum), mul(now, (1 - momentum) * share)));
  };
  const outputValues = new Map(graph.outputs.map(({ name, value }) => [name, value]));
  for (const each of statistics) {
    const count = counts.get(outputValues.get(batchMean(each))) ?? 1;
    if (count < 2)
      invalid(`${quote(each.node)} has one value a channel, which has no variance; take a larger batch`);
    follow(each.mean, results[batchMean(each)] as Tensor, each.momentum, 1);
    follow(each.variance, results[batchVariance(each)] as Tensor, each.momentum, count / (count - 1));
  }
  return nest(next, clash) as TracedOnnxTensors;
}

function clash(path: string): never {
  invalid(
    `two parameters are named ${quote(path)}, or one is named as a part of another; pass rename: (name) => …`,
    { path },
  );
}

function asF32(given: HostTensor): HostTensor {
  const { dtype, shape, data } = given;
  if (dtype === "f32" || !isFloat(dtype)) return given;
  return tensor(decodeArray(dtype, data as Uint16Array), shape);
}

const lacks = (isState: boolean, path: string): string =>
  isState
    ? `the running statistics ${quote(path)} are missing: pass { ...context, modelState: this model's part }, which initState() began and the trainer was given`
    : `the parameter ${quote(path)} is missing; the tree is that of init()`;
