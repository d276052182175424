import { float32, mixedBfloat16, mixedFloat16 } from "@mp/core";
import {
  type Graph,
  type HostTensor,
  isHostTensor,
  isNode,
  leavesOf,
  MpError,
  prepareGraph,
  type Tree,
} from "@mp/graph";
import { checks, shown } from "@mp/graph/internal";
import manifest from "../../package.json" with { type: "json" };
import { IR_VERSION, type OnnxModel } from "../model.js";
import { decidingBy, type FoldDecisions } from "../read/fold-decisions.js";
import { subgraph } from "../trainable/subgraph.js";
import { writeGraph } from "../write/write.js";
import { castAfterMoves } from "./cast-after-moves.js";
import { mergeSizes } from "./dynamic-axes.js";
import {
  type ExportInputs,
  type ExportOptions,
  invalid,
  type ReadExportOptions,
  readExportOptions,
} from "./export-options.js";
import { foldNormalizations } from "./fold-normalizations.js";
import { graphOfOpset, IR_VERSIONS, lowerForOpset } from "./older-opset.js";
import { narrowWeights } from "./stored-weights.js";
import {
  type AnyExported,
  type ExportFunction,
  type ExportLayer,
  type TracedModel,
  traceModel,
  type Weights,
} from "./traced-model.js";
import { type Sizes, sizesIn, smallestSizes, traceSizes, unevenSizes } from "./traced-sizes.js";

/** The weights of a trained model. */
export interface ExportWeights<P, S> {
  /** Parameters, as `training.parameters()` gives them. */
  readonly params: P;
  /** Running statistics, as `training.modelState()` resolves with them; default none. They stay f32. */
  readonly state?: S;
}

/**
 * Exports a trained model as an ONNX model for inference, of opset 23 unless told otherwise. Parameters and
 * statistics become initializers named by their paths (`0/kernel`); dropout does nothing, and normalizations
 * use running statistics. A single result is named `output`. A model of `fromOnnx` keeps the names in its
 * file. `encodeModel` encodes the result as bytes.
 *
 * With `dynamicAxes` the model is traced at three multiples of the given sizes that occur nowhere else in it,
 * and at sizes between them if the model accepts those. All differences between the traces have to follow
 * from the open sizes. A function that branches on a size is exported with the branch that it takes in the
 * traces.
 * @throws MP_INVALID_ARGUMENT for an unknown option, input or axis, and for a value that is not a model
 * @throws MP_OUT_OF_RANGE for a parameter that is not finite in the dtype
 * @throws MP_UNSUPPORTED naming the node whose operands or attributes depend on a dynamic axis in a way that the file
 *   cannot express; for random numbers, loops in f16 on a CPU, and operators that an older opset cannot express
 */
export function exportOnnx<P, S, const I extends ExportInputs>(
  model: ExportFunction<P, S, I> | ExportLayer,
  weights: ExportWeights<P, S>,
  options: ExportOptions<I>,
): OnnxModel {
  expectModel(model);
  expectWeights(weights);
  if (weights.state === undefined) expectNoStatistics(model as ExportLayer);
  const read = readExportOptions(options);
  const stored: Weights = {
    params: narrowWeights(weights.params as Tree<HostTensor>, read.dtype),
    state: (weights.state ?? {}) as Tree<HostTensor>,
  };
  const folds: FoldDecisions = new Map();
  const trace = (sizes: Sizes): TracedModel =>
    decidingBy(folds, () => traceAt(model as AnyExported, stored, read, sizes));
  // Traces at the smallest sizes first, so that no open size decides what a reader evaluates. If the model
  // does not take such small sizes, the given sizes decide; other errors of the model show there too.
  if (read.openSizes.length > 0) isTaken(() => trace(smallestSizes(read.openSizes)));
  const taken = read.openSizes.length === 0 ? new Set<number>() : sizesIn(trace(new Map()).graph);
  const even = traceSizes(read.openSizes, taken);
  const uneven = unevenSizes(read.openSizes, even, taken).filter((sizes) => isTaken(() => trace(sizes)));
  const sizes = [...even, ...uneven];
  const exported = mergeSizes(
    sizes.map((each) => writeModel(trace(each), read)),
    read.openSizes,
    sizes,
  );
  const policy = String(choosePrecision(read.dtype, read.target).policy);
  return {
    ...exported,
    producerName: name,
    producerVersion: version,
    metadata: { "mp.dtype": read.dtype, "mp.policy": policy, ...read.metadata },
  };
}

const { name, version } = manifest;

function expectModel(model: unknown): void {
  const { apply } = (model ?? {}) as Partial<ExportLayer>;
  if (typeof model === "function" || typeof apply === "function") return;
  invalid(`takes a layer or a function of parameters, inputs and context, got ${shown(model)}`);
}

/** Whether tracing succeeds; models may throw any error for sizes that they do not accept. */
function isTaken(trace: () => unknown): boolean {
  try {
    trace();
    return true;
  } catch {
    return false;
  }
}

/** Refuses unknown keys, such as the trainer's `modelState`. @throws MP_INVALID_ARGUMENT */
function expectWeights(weights: unknown): void {
  checks.object("exportOnnx: the second argument, { params, state },", weights);
  const other = Object.keys(weights as object).find((key) => key !== "params" && key !== "state");
  if (other !== undefined)
    invalid(`the second argument has no ${JSON.stringify(other)}; it is { params, state }`);
}

/** Refuses a model whose statistics were not given. @throws MP_INVALID_ARGUMENT */
function expectNoStatistics(model: ExportLayer): void {
  const statistics = model.initState?.() ?? {};
  if (leavesOf(statistics, isHostTensor, "state").length > 0)
    invalid("the model has statistics; pass { params, state: await training.modelState() }");
}

/** Traces the model at these sizes of its dynamic axes. */
function traceAt(
  model: AnyExported,
  weights: Weights,
  { inputs, openSizes, dtype, target }: ReadExportOptions,
  sizes: Sizes,
): TracedModel {
  const sized = new Map(
    [...inputs].map(([input, { dtype, shape }]) => {
      const openSize = (axis: number): number | undefined => {
        const open = openSizes.find(({ axes }) => axes.some((at) => at.input === input && at.axis === axis));
        return open && sizes.get(open.name);
      };
      return [input, { dtype, shape: shape.map((size, axis) => openSize(axis) ?? size) }] as const;
    }),
  );
  const traced = traceModel(model, weights, sized, choosePrecision(dtype, target).policy);
  if (target === "cpu") expectLoadable(traced.graph);
  return traced;
}

function writeModel(traced: TracedModel, options: ReadExportOptions): OnnxModel {
  const { inputs, name, opset, foldBatchNorm, dtype, target } = options;
  const isHalfOnCpu = dtype === "f16" && target === "cpu";
  const loadable = isHalfOnCpu ? castAfterMoves(traced.graph) : traced.graph;
  const prepared = { ...traced, graph: prepareGraph(loadable) };
  const { graph: folded, weights } = foldBatchNorm ? foldNormalizations(prepared) : prepared;
  const ofOpset = graphOfOpset(foldBatchNorm ? prepareGraph(folded) : folded, opset);
  const written = writeGraph(ofOpset, { name, origins: false, types: false, lower: lowerForOpset(opset) });
  const own = written.graph.inputs.slice(0, inputs.size);
  const held = written.graph.inputs.slice(inputs.size).map(({ name }, at) => ({
    name,
    tensor: weights[at] as HostTensor,
  }));
  const graph = { ...written.graph, initializers: [...held, ...written.graph.initializers] };
  const used = subgraph(
    graph,
    graph.outputs.map(({ name }) => name),
  );
  const opsets = { ...written.opsets, "": opset };
  return { ...written, irVersion: IR_VERSIONS[opset] ?? IR_VERSION, opsets, graph: { ...used, inputs: own } };
}

/**
 * Refuses loops that compute in f16. At its default optimization level on a CPU, ONNX Runtime 1.30 and 1.32 crash on
 * some such loops, as in an LSTM exported by PyTorch; with constant folding disabled both versions load all loops.
 */
function expectLoadable({ nodes }: Graph): void {
  for (const node of nodes) {
    if (!isNode(node, "Scan")) continue;
    const { body } = node.attributes;
    if (body.nodes.some(({ outputs }) => outputs.some(({ dtype }) => dtype === "f16")))
      throw new MpError(
        "MP_UNSUPPORTED",
        `exportOnnx: the loop ${node.name} would compute in f16, which can crash ONNX Runtime on a CPU; use dtype: "bf16" or "f32", or target: "cuda"`,
      );
    expectLoadable(body);
  }
}

function choosePrecision(
  dtype: ReadExportOptions["dtype"],
  target: ReadExportOptions["target"],
): ReturnType<typeof float32> {
  if (dtype === "f16") return mixedFloat16();
  return dtype === "bf16" && target === "cuda" ? mixedBfloat16() : float32();
}
