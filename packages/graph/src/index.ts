/**
 * `@mp/graph`: the typed graph below `@mp/core`, with its tracing, differentiation, rewriting, costs and printing,
 * and the tensors, trees, dtypes and errors that all packages share. Operators are in `@mp/graph/ops`; the rest, for
 * authors of backends, is in `@mp/graph/backend`, `@mp/graph/probe` and `@mp/graph/reference`.
 */

// Backends, and running a graph on one
export type {
  Backend,
  BackendStats,
  CompileOptions,
  Executable,
  Handle,
  MemoryReport,
  ProfileRow,
  RunInput,
  State,
  StateBinding,
  StateOptions,
} from "./contract/backend.js";
export type { BackendManifest } from "./contract/manifest.js";
// Dtypes and their bits
export {
  bytesPerElement,
  type ComputeDType,
  DTYPES,
  type DType,
  type EighthDType,
  type FloatDType,
  type FloatFormat,
  floatFormats,
  type HalfDType,
  type HostArrays,
  hostArrayOf,
  isComputeFloat,
  isEighth,
  isFloat,
  isHalf,
} from "./dtype.js";
// Errors
export { ERROR_CODES, type ErrorCode, MpError } from "./errors.js";
export { decode, decodeArray, encode, encodeArray } from "./float-format/bits.js";
export { roundTo } from "./float-format/round.js";
export { ulpDistance } from "./float-format/ulp.js";
export { customGradient } from "./gradient/custom-gradient.js";
// Transformations and randomness
export { grad, valueAndGrad } from "./gradient/grad.js";
export { ADDING_OPS } from "./graph/adding-ops.js";
// Operators and their attributes
export type {
  KernelWindow,
  LossReduction,
  Op,
  OpAttributes,
  PoolingWindow,
  ScatterReduction,
} from "./graph/attributes.js";
// Building, tracing, checking and printing
export { GraphBuilder } from "./graph/build/builder.js";
export { validateGraph } from "./graph/build/validate.js";
export type { CastCategory } from "./graph/category.js";
export { type Cost, type GraphCost, graphCost } from "./graph/cost.js";
export { plainEquation } from "./graph/einsum-equation.js";
// Families of operators
export {
  type AddingOp,
  type ArgOp,
  FAMILIES,
  type Family,
  type OpOf,
  PRODUCT_OPS,
  REDUCE_OPS,
  type ReduceOp,
  rowsOf,
  type ScatterOp,
  type SoftmaxOp,
} from "./graph/families.js";
export { formatType } from "./graph/format-type.js";
// The graph: its nodes and values
export {
  type AnyNode,
  consumers,
  type Graph,
  type GraphInput,
  type GraphNode,
  type GraphOutput,
  type InputRole,
  isNode,
  type Origin,
  type Phase,
  producers,
  type Value,
  type ValueType,
} from "./graph/graph.js";
export { inferTypes } from "./graph/infer/infer.js";
// What operators take
export { decidingDType, opDTypes } from "./graph/op-dtypes.js";
export { OPS, opTable } from "./graph/op-table.js";
export { tapCounts, tapsOf, withoutCeiling } from "./graph/pooling-window.js";
export { printGraph } from "./graph/print.js";
export { randomNodeIn } from "./graph/random-node.js";
export { rangeValues, uncountableRange } from "./graph/range-values.js";
export { halvedPads, samePads, windowExtent } from "./graph/window.js";
export {
  byteLength,
  full,
  type HostTensor,
  isHostTensor,
  ones,
  tensor,
  zeros,
} from "./host/host-tensor.js";
export type { Ranks } from "./ranks.js";
// Shapes
export {
  broadcastShapes,
  elementCount,
  formatShape,
  normalizeAxis,
  type Shape,
  sameShape,
  stridesOf,
} from "./shape.js";
export { applyGraph } from "./trace/apply-graph.js";
export { mapTensors, type TensorTree } from "./trace/map-tensors.js";
export { foldIn, type Key, key } from "./trace/random/random.js";
export { remat } from "./trace/remat.js";
// Tensors and trees of them
export { isTensor, Tensor } from "./trace/tensor.js";
export { scope, type TracedInput, traceInto } from "./trace/trace.js";
export { expandAttentions } from "./transform/expand-attention.js";
export { type ExpandedGraph, expandComposites } from "./transform/expand-composites.js";
export { expandEinsums } from "./transform/expand-einsum.js";
export { emulateHalves } from "./transform/halves/emulate-halves.js";
export { widenNodes } from "./transform/halves/widen-nodes.js";
export { type LivenessOptions, type Peak, peakLiveBytes } from "./transform/liveness.js";
// Passes
export { prepareGraph } from "./transform/prepare.js";
export { type EighthRounding, roundEighths } from "./transform/round-eighths.js";
export { leavesOf, type MapLeaves, mapTree, rebuildTree, type Tree } from "./tree.js";
