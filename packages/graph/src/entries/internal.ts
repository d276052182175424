/**
 * `@mp/graph/internal`: shared by the packages of this repository, which depend on this package's exact version. It is
 * not public: any release may change it.
 */

// Checks of arguments and options, and the words of their messages
export * as checks from "../argument-checks.js";
export type { Check } from "../argument-checks.js";
export { resolveBindings } from "../backend/bindings.js";
export { copyTensor } from "../backend/copy-of.js";
export type { KernelManifest } from "../backend/manifest.js";
export { Ledger, type LiveStats, NativeResource } from "../backend/native-resource.js";
export { WorkQueue } from "../backend/work-queue.js";
export { contentHash } from "../content-hash.js";
// Engines
export type { BackendWarning, EngineTensor } from "../contract/backend.js";
export { type Accumulation, accumulatorOf, supportsOp, type Ulp } from "../contract/manifest.js";
export { described } from "../described.js";
// Dtypes, bytes and trees
export { dtypeHint, longNames } from "../dtype.js";
export { dtypeMismatch, invalid, shapeMismatch } from "../errors.js";
export { fileRemedy } from "../file-remedy.js";
export type { UnreachedLeaves } from "../gradient/grad.js";
export { type GradientCut, reachedValues } from "../gradient/gradient-cuts.js";
export { operatorGradients } from "../gradient/operator-gradients.js";
export { addsUp } from "../graph/adding-ops.js";
// Graphs: copies, bodies of loops, categories of operators
export { GraphCopy } from "../graph/build/graph-copy.js";
export { deepNodes, withBodies } from "../graph/build/with-bodies.js";
export { CAST_CATEGORIES, leadingInputs } from "../graph/category.js";
export { sourceOfIndices } from "../graph/known-indices.js";
export { unrollScans } from "../graph/scan/unroll.js";
export { totalBytes } from "../host/host-tensor.js";
export { notesIn, withNote } from "../host/tree-notes.js";
export { meantInstead, namesInstead } from "../missing-name.js";
export { leafAt, nest } from "../named-tree.js";
export {
  type Defaulted,
  type DefaultedOptions,
  later,
  type OptionTable,
  type OptionValues,
  readOptions,
  withDefault,
  withoutDefaults,
} from "../option-table.js";
export { checkOptions, type OptionNames } from "../options.js";
export { isPlainObject } from "../plain-object.js";
export { sameBytes } from "../same-bytes.js";
export { shown } from "../shown.js";
export { stableHash } from "../stable-hash.js";
export { hideFromOrigins } from "../trace/line.js";
export { partOf, tensorsOf } from "../trace/map-tensors.js";
export { inlineReplacing } from "../trace/inline-replacing.js";
export { openedTo } from "../trace/opened.js";
export { poison, poisonOf } from "../trace/ops/finite.js";
export { labeledPart, notePaths } from "../trace/parameter-paths.js";
export { pinCasts } from "../trace/pins.js";
export { hostUniform } from "../trace/random/host-random.js";
export { setRandomCounter } from "../trace/random/random.js";
export { squares32 } from "../trace/random/squares.js";
// Traces
export {
  asDraw,
  atUserLines,
  currentBuilder,
  inlineTraced,
  type TracedGraph,
  withBuilder,
  withoutLines,
  withPhase,
  withUnevenMean,
} from "../trace/trace.js";
export { emitWidened } from "../transform/halves/widen-halves.js";
export { castInputs, firstCulprit, instrument, type Probe, type Probes } from "../transform/instrument.js";
export { Storages } from "../transform/liveness.js";
export { DEEPEST_TREE, isWithin, keyProblem } from "../tree.js";
export { arrayClassOf, classNameOf } from "../typed-array.js";
