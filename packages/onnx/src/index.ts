import { hideFromOrigins } from "@mp/graph/internal";

hideFromOrigins(import.meta.url);

// Models as layers

export { type FromOnnxOptions, fromOnnx } from "./trainable/from-onnx.js";
export type {
  OnnxContext,
  OnnxTensors,
  TracedOnnxTensors,
  TrainableModel,
} from "./trainable/trainable-model.js";

// Models for inference

export { type ExportWeights, exportOnnx } from "./export/export-onnx.js";
export type { ExportInput, ExportInputs, ExportOptions } from "./export/export-options.js";
export type { ExportContext, ExportFunction, ExportLayer } from "./export/traced-model.js";

// Graphs as models, and back

export type { InitializerRole } from "./read/initializer-roles.js";
export { type ReadModel, readGraph } from "./read/read.js";
export type { ReadOptions } from "./read/read-options.js";
export { READ_OPERATORS } from "./read/readers.js";
export type { ReadAs } from "./read-as.js";
export type { ScanLimits } from "./scan-limits.js";
export { sourceOfNode, type WriteOptions, writeGraph } from "./write/write.js";

// Models as bytes

export { type DecodeOptions, decodeModel } from "./decode.js";
export type { ElementType, ForeignElementType } from "./element-type.js";
export type { EncodeOptions } from "./encode.js";
export { encodeModel } from "./encode-checked.js";
export type { DataPlace, ReadExternalData } from "./read-external-data.js";

// Models as data

export * from "./model.js";
