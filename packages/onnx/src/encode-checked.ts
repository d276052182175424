import { type EncodeOptions, encodeModel as encode } from "./encode.js";
import { expectModel } from "./expect-model.js";
import type { OnnxModel } from "./model.js";

/**
 * A model as the bytes of an `.onnx` file.
 * @throws MP_INVALID_ARGUMENT for what has not the structure of a model, naming the place
 * @throws MP_OUT_OF_RANGE for more than fits in one protobuf, and for a number that its attribute does not hold
 */
export function encodeModel(model: OnnxModel, options: EncodeOptions = {}): Uint8Array<ArrayBuffer> {
  expectModel("encodeModel", model);
  return encode(model, options);
}
