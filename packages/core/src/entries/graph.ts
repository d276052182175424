/** `@mp/core/graph`: the typed graph, what builds, rewrites, costs and prints it, and the dtypes and shapes of its values. */

// The graph: its nodes and values
export {
  consumers,
  isNode,
  producers,
  type Graph,
  type GraphInput,
  type GraphOutput,
  type GraphNode,
  type AnyNode,
  type InputRole,
  type Origin,
  type Phase,
  type Value,
  type ValueType,
} from "../graph/graph.js";

// Operators and their attributes
export type {
  Op,
  OpAttributes,
  KernelWindow,
  PoolingWindow,
  LossReduction,
  ScatterReduction,
} from "../graph/attributes.js";

// Families of operators
export {
  FAMILIES,
  PRODUCT_OPS,
  type AddingOp,
  REDUCE_OPS,
  rowsOf,
  type ArgOp,
  type Family,
  type OpOf,
  type ReduceOp,
  type ScatterOp,
  type SoftmaxOp,
} from "../graph/families.js";

// Building, tracing, checking and printing
export { GraphBuilder } from "../graph/build/builder.js";
export { formatType } from "../graph/format-type.js";
export { traceInto, type TracedInput } from "../trace/trace.js";
export { applyGraph } from "../trace/apply-graph.js";
export { randomNodeIn } from "../graph/random-node.js";
export { validateGraph } from "../graph/build/validate.js";
export { inferTypes } from "../graph/infer/infer.js";
export { printGraph } from "../graph/print.js";
export { graphCost, type GraphCost, type Cost } from "../graph/cost.js";

// Running without a trainer, on a backend
export type {
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
} from "../contract/backend.js";

// Passes
export { prepareGraph } from "../transform/prepare.js";
export { autocastGraph } from "../cast/autocast-graph.js";
export { dropIdleCasts } from "../cast/idle-casts.js";
export type { CastOptions } from "../cast/plan.js";
export type { CastCategory } from "../graph/category.js";
export type { OpCategories } from "../cast/policy.js";
export { emulateHalves } from "../cast/emulate-halves.js";
export { widenNodes } from "../cast/widen-nodes.js";
export { expandAttentions } from "../transform/expand-attention.js";
export { expandEinsums } from "../transform/expand-einsum.js";
export { expandComposites, type ExpandedGraph } from "../transform/expand-composites.js";
export { peakLiveBytes, type LivenessOptions, type Peak } from "../transform/liveness.js";

// What operators take
export { opDTypes, decidingDType } from "../graph/op-dtypes.js";
export { OPS, opTable } from "../graph/op-table.js";
export { ADDING_OPS } from "../graph/adding-ops.js";
export { rangeValues, uncountableRange } from "../graph/range-values.js";
export { plainEquation } from "../graph/einsum-equation.js";
export { tapCounts, tapsOf, withoutCeiling } from "../graph/pooling-window.js";
export { halvedPads, samePads, windowExtent } from "../graph/window.js";

// Dtypes and their bits
export {
  DTYPES,
  bytesPerElement,
  floatFormats,
  hostArrayOf,
  isComputeFloat,
  isFloat,
  isHalf,
  type ComputeDType,
  type FloatDType,
  type FloatFormat,
  type HostArrays,
} from "../dtype.js";
export { encode, encodeArray, decode, decodeArray } from "../float-format/bits.js";
export { roundTo } from "../float-format/round.js";
export { ulpDistance } from "../float-format/ulp.js";

// Shapes
export { broadcastShapes, elementCount, formatShape, normalizeAxis, sameShape, stridesOf } from "../shape.js";
export { byteLength } from "../host/host-tensor.js";
export type { MapLeaves } from "../tree.js";
