import { type EncodeOptions, encodeModel as encode } from "./encode.js";
import { expectModel } from "./expect-model.js";
import type { OnnxModel } from "./model.js";

/**
 * Encodes a model as the bytes of an `.onnx` file.
 * @throws MP_INVALID_ARGUMENT naming the field at which the value does not have the structure of a model
 * @throws MP_OUT_OF_RANGE for a model too large for one protobuf, and a number that its attribute cannot hold
 */
export function encodeModel(model: OnnxModel, options: EncodeOptions = {}): Uint8Array<ArrayBuffer> {
  expectModel("encodeModel", model);
  return encode(model, options);
}
