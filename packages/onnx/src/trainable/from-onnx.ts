import { type HostTensor, isFloat } from "@mp/graph";
import { arrayClassOf, checks, readOptions } from "@mp/graph/internal";
import { decodeModel } from "../decode.js";
import { HELPER_KEY, originFromMetadata } from "../metadata-keys.js";
import type { OnnxGraph, OnnxModel, OnnxNode } from "../model.js";
import { quote } from "../problem.js";
import {
  constantFloats,
  decideRole,
  type InitializerRole,
  InitializerRoles,
} from "../read/initializer-roles.js";
import { moduleScope } from "../read/module-scope.js";
import { expectVersions } from "../read/read.js";
import type { ReadOptions } from "../read/read-options.js";
import { printWarning, type Warn, warnOfRoles } from "../read/read-warnings.js";
import type { ReadAs } from "../read-as.js";
import type { ReadExternalData } from "../read-external-data.js";
import { readLimits } from "../read-limits.js";
import { openModel } from "./files.js";
import { invalid } from "./invalid.js";
import { subgraph } from "./subgraph.js";
import { type TrainableModel, trainableModel } from "./trainable-model.js";
import { findStatistics, withDropout } from "./training-nodes.js";

export interface FromOnnxOptions extends Pick<ReadOptions, "isParameter" | "limits" | "onWarning"> {
  /**
   * Names of inner values to return as the model's results: `["/layer4/Add_output_0"]` removes everything after that
   * value. Default: the file's own outputs.
   */
  readonly outputs?: readonly string[];
  /**
   * Rates of dropouts to add after values, by value name; exports for inference leave dropouts out. Like
   * Dropout nodes of the file, they act only in training.
   */
  readonly dropout?: Readonly<Record<string, number>>;
  /**
   * Whether batch normalizations use the batch's statistics in training and update the running ones, like
   * PyTorch's `train()`. Default true; with false they always use the running statistics, like `eval()`.
   */
  readonly batchStatistics?: boolean;
  /** Renames parameters and statistics; dots and slashes in a new name nest it. */
  readonly rename?: (name: string) => string;
  /** Reads external data for a model that is given as bytes; not needed for a path. */
  readonly externalData?: ReadExternalData;
  /** Substitutes for element types that graphs lack: `{ DOUBLE: "f32" }`. Default: such types are refused. */
  readonly readAs?: ReadAs;
}

const OPTIONS = {
  outputs: checks.optional(
    checks.listOf("names of values", (name) => typeof name === "string" && name !== ""),
  ),
  dropout: checks.optional(checks.object),
  batchStatistics: checks.optional(checks.truth),
  rename: checks.optional(checks.callback),
  externalData: checks.optional(checks.callback),
  readAs: checks.optional(checks.object),
  isParameter: checks.optional(checks.callback),
  onWarning: checks.optional(checks.callback),
  limits: checks.optional(checks.object),
};

/**
 * Reads the model of an ONNX file as a layer to train. Float initializers that are used like weights are its
 * parameters, nested by their names; running statistics are its state; everything else is constant.
 * @throws MP_IO for a file that cannot be read
 * @throws MP_PARSE for bytes that are not a well-formed model
 * @throws MP_UNSUPPORTED for a model of an opset after 28, or of one before 13 with operators that have changed
 *   since; later, `apply` refuses operators that are not read, and graphs beyond `limits` with MP_OUT_OF_RANGE
 * @throws MP_INVALID_ARGUMENT for an unknown option, output or dropout, a parameter without a name, a name that
 *   occurs twice, and external data that is not a `Uint8Array`
 */
export async function fromOnnx(
  pathOrBytes: string | Uint8Array,
  options: FromOnnxOptions = {},
): Promise<TrainableModel> {
  const read = readOptions("fromOnnx", options, OPTIONS, { example: '{ outputs: ["features"] }' });
  const model = await decode(pathOrBytes, read.externalData, read.readAs ?? {});
  expectVersions(model);
  const cut = subgraph(model.graph, read.outputs ?? model.graph.outputs.map(({ name }) => name));
  const { roles, parameters } = findParameters(cut, model.producerName, read.isParameter);
  const warn = once(read.onWarning ?? printWarning);
  warnOfRoles(roles, warn);
  const statistics = read.batchStatistics === false ? [] : findStatistics(cut);
  const ofState = new Set(statistics.flatMap(({ mean, variance }) => [mean, variance]));
  const statisticTensors = new Map(
    cut.initializers.flatMap(({ name, tensor }) => (ofState.has(name) ? [[name, tensor] as const] : [])),
  );
  const held = new Set(cut.initializers.map(({ name }) => name));
  const names = [...parameters.keys(), ...statisticTensors.keys()];
  return trainableModel({
    model: { ...model, graph: withDropout(cut, read.dropout ?? {}) },
    inputs: cut.inputs.filter(({ name }) => !held.has(name)),
    parameters,
    statistics,
    statisticTensors,
    paths: treePaths(cut, names, read.rename),
    roles,
    warn,
    limits: readLimits(read.limits),
  });
}

/** Passes each warning on only once, because the file is read again for each new set of shapes. */
function once(warn: Warn): Warn {
  const known = new Set<string>();
  return (warning) => {
    if (known.has(warning.message)) return;
    known.add(warning.message);
    warn(warning);
  };
}

async function decode(
  given: string | Uint8Array,
  externalData: ReadExternalData | undefined,
  readAs: ReadAs,
): Promise<OnnxModel> {
  if (typeof given === "string") {
    checks.path("fromOnnx: the path", given);
    const file = await openModel(given);
    return decodeModel(file.bytes, { readAs, externalData: externalData ?? file.externalData });
  }
  if (given instanceof Uint8Array || arrayClassOf(given) === "Uint8Array")
    return decodeModel(given, externalData === undefined ? { readAs } : { readAs, externalData });
  return invalid(`takes the path of a file or its bytes, got ${arrayClassOf(given) ?? typeof given}`);
}

/** Whether this package wrote the node. If so, a Constant is not an initializer that a tool has folded. */
const isOurs = ({ metadata }: OnnxNode): boolean =>
  metadata[HELPER_KEY] !== undefined || originFromMetadata(metadata) !== undefined;

function findParameters(
  graph: OnnxGraph,
  producer: string,
  isParameter: FromOnnxOptions["isParameter"],
): { readonly roles: readonly InitializerRole[]; readonly parameters: ReadonlyMap<string, HostTensor> } {
  const byStructure = new InitializerRoles(graph, producer);
  const parameters = new Map<string, HostTensor>();
  const constants = graph.nodes
    .filter((node) => !isOurs(node))
    .flatMap(constantFloats)
    .filter(({ tensor }) => tensor.shape.length > 0);
  const roles = [...graph.initializers, ...constants].flatMap(({ name, tensor }) => {
    if (!isFloat(tensor.dtype)) return [];
    const role = decideRole(name, tensor, { name, ...byStructure.of(name, tensor) }, isParameter);
    if (role.isParameter) parameters.set(name, tensor);
    return [role];
  });
  return { roles, parameters };
}

/** Applies `rename`. @throws MP_INVALID_ARGUMENT for a name with only dots and slashes, which has no path */
function applyRename(name: string, rename: FromOnnxOptions["rename"]): string {
  const given: unknown = rename?.(name) ?? name;
  if (typeof given === "string" && splitName(given).length > 0) return given;
  const got = typeof given === "string" ? quote(given) : typeof given;
  return invalid(
    `the parameter ${quote(name)} needs a name with more than dots and slashes, got ${got}; pass rename: (name) => …`,
    { name },
  );
}

/**
 * The path in the tree for each name. A weight that an exporter computed and named `val_14` goes into the layer that
 * reads it first.
 */
function treePaths(
  graph: OnnxGraph,
  names: readonly string[],
  rename: FromOnnxOptions["rename"],
): ReadonlyMap<string, string> {
  const readers = new Map<string, string>();
  for (const node of graph.nodes)
    for (const name of node.inputs) if (!readers.has(name)) readers.set(name, moduleScope(node));
  return new Map(
    names.map((name) => {
      const keys = splitName(applyRename(name, rename));
      const scope = rename === undefined && keys.length === 1 ? (readers.get(name) ?? "") : "";
      return [name, [...splitName(scope), ...keys].join("/")];
    }),
  );
}

/** Splits a name into the keys of a tree: `layer1.0.conv1.weight` and `/layer1/0/conv1/weight` nest alike. */
const splitName = (name: string): readonly string[] => name.split(/[./]/).filter((key) => key !== "");
