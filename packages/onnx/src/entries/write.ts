/**
 * `@mp/onnx/write`: writes graphs as ONNX models, and models as bytes. A program that only writes, such as a backend
 * in a browser, thus loads neither the reader nor protobuf's schema.
 */

// Graphs as models

export { sourceOfNode, type WriteOptions, writeGraph } from "../write/write.js";

// Models as bytes

export type { ElementType, ForeignElementType } from "../element-type.js";
export type { EncodeOptions } from "../encode.js";
export { encodeModel } from "../encode-checked.js";

// Models as data

export * from "../model.js";

// Lowerings, for backends

export { castToEighth } from "../write/cast-to-eighth.js";
export type { EmitOptions, Lowering, LoweringTable, LowerNode, NodeWriter } from "../write/lowering.js";
export { standardLowerings } from "../write/lowerings.js";
export { windowAttributes } from "../write/pooling.js";
export { clipBounds } from "../write/unary.js";
