// Dense layers, embeddings, activations, dropouts.
import type { Tensor } from "@mp/graph";
import {
  add,
  cast,
  clip,
  elu,
  gather,
  greater,
  leakyRelu,
  matMul,
  mul,
  neg,
  relu,
  softmax,
  sub,
  where,
} from "@mp/graph/ops";
import { readActivation } from "../activations-table.js";
import { dropOut, firstInput, type LayerKind, unary, weightNames } from "../plan.js";

const dense: LayerKind = (settings) => {
  const usesBias = settings.flag("use_bias", true);
  const activation = readActivation(settings, "activation", "linear");
  return {
    weights: weightNames("kernel", ...(usesBias ? ["bias"] : [])),
    run: (call) => {
      const y = matMul(firstInput(call), call.weight("kernel"));
      return activation(usesBias ? add(y, call.weight("bias")) : y);
    },
  };
};

const prelu: LayerKind = () => ({
  weights: weightNames("alpha"),
  run: (call) => {
    const x = firstInput(call);
    return sub(relu(x), mul(call.weight("alpha"), relu(neg(x))));
  },
});

/** Dropout by a mask of shape `maskShape`, broadcast to x. */
const dropout = (maskShape: (x: Tensor) => readonly number[]): LayerKind =>
  unary(
    (settings) => {
      const rate = settings.number("rate");
      if (!(rate >= 0 && rate < 1)) settings.refuse(`rate: ${rate} is not in 0 … 1`);
      settings.expect("noise_shape");
      return rate;
    },
    (x, rate, call) =>
      call.training && rate > 0 ? dropOut(x, call.dropoutMask(rate, maskShape(x)), rate) : x,
  );

const spatialDropout = dropout(({ shape }) =>
  shape.map((size, axis) => (axis === 0 || axis === shape.length - 1 ? size : 1)),
);

const embedding: LayerKind = (settings) => {
  settings.expect("mask_zero", false);
  return {
    weights: weightNames("embeddings"),
    run: (call) => {
      const indices = firstInput(call);
      const isIndex = indices.dtype === "i32" || indices.dtype === "i64";
      return gather(call.weight("embeddings"), isIndex ? indices : cast(indices, "i32"));
    },
  };
};

export const CORE_LAYERS: Readonly<Record<string, LayerKind>> = {
  Dense: dense,
  Activation: unary(
    (settings) => readActivation(settings, "activation", "linear"),
    (x, activation) => activation(x),
  ),
  ReLU: unary(
    (settings) => {
      const isBounded = (settings.config["max_value"] ?? undefined) !== undefined;
      settings.expect("threshold", 0);
      return {
        slope: settings.number("negative_slope", 0),
        max: isBounded ? settings.number("max_value") : undefined,
      };
    },
    (x, { slope, max }) => {
      const y = slope === 0 ? relu(x) : leakyRelu(x, slope);
      return max === undefined ? y : clip(y, { max });
    },
  ),
  LeakyReLU: unary(
    (settings) => settings.number("negative_slope", settings.number("alpha", 0.3)),
    (x, slope) => leakyRelu(x, slope),
  ),
  PReLU: prelu,
  ELU: unary(
    (settings) => settings.number("alpha", 1),
    (x, alpha) => elu(x, alpha),
  ),
  ThresholdedReLU: unary(
    (settings) => settings.number("theta", 1),
    (x, theta) => where(greater(x, theta), x, 0),
  ),
  Softmax: unary(
    (settings) => settings.number("axis", -1),
    (x, axis) => softmax(x, axis),
  ),
  Dropout: dropout(({ shape }) => shape),
  SpatialDropout1D: spatialDropout,
  SpatialDropout2D: spatialDropout,
  Embedding: embedding,
  Rescaling: unary(
    (settings) => ({ scale: settings.number("scale"), offset: settings.number("offset", 0) }),
    (x, { scale, offset }) => add(mul(x, scale), offset),
  ),
};
