import { hideFromOrigins } from "@mp/core";

hideFromOrigins(import.meta.url);

export { elu, gelu, leakyRelu, relu, sigmoid, softplus, tanh } from "@mp/core";
export { type DenseOptions, type DenseParameters, dense } from "./dense.js";
export { dropout } from "./dropout.js";
export { type EmbeddingParameters, embedding } from "./embedding.js";
export { constantValue, glorotUniform, heNormal, type Initializer, normal, uniform } from "./initializers.js";
export type { Layer, LayerContext, Nothing, Parameters, ParameterTree } from "./layer.js";
export { type LayerNormParameters, layerNorm } from "./layer-norm.js";
export {
  binaryCrossEntropyWithLogits,
  type HuberOptions,
  huber,
  meanSquaredError,
  type SmoothL1Options,
  smoothL1,
  softmaxCrossEntropy,
} from "./losses.js";
export {
  type LstmParameters,
  type LstmResult,
  type LstmSequence,
  type LstmState,
  lstm,
  lstmState,
  lstmStep,
} from "./lstm.js";
export { type SequentialParameters, sequential } from "./sequential.js";
