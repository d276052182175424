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
import { type Call, dropOut, firstInput, type LayerKind, plain, weightNames } from "../plan.js";

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

const activation: LayerKind = (settings) => {
  const compute = readActivation(settings, "activation", "linear");
  return plain((x) => compute(x));
};

const reluKind: LayerKind = (settings) => {
  const most = settings.config["max_value"] ?? undefined;
  const max = most === undefined ? undefined : settings.number("max_value");
  const slope = settings.number("negative_slope", 0);
  settings.expect("threshold", 0);
  return plain((x) => {
    const y = slope === 0 ? relu(x) : leakyRelu(x, slope);
    return max === undefined ? y : clip(y, { max });
  });
};

const leakyReluKind: LayerKind = (settings) => {
  const slope = settings.number("negative_slope", settings.number("alpha", 0.3));
  return plain((x) => leakyRelu(x, slope));
};

const prelu: LayerKind = () => ({
  weights: weightNames("alpha"),
  run: (call) => {
    const x = firstInput(call);
    return sub(relu(x), mul(call.weight("alpha"), relu(neg(x))));
  },
});

const eluKind: LayerKind = (settings) => {
  const alpha = settings.number("alpha", 1);
  return plain((x) => elu(x, alpha));
};

const thresholdRelu: LayerKind = (settings) => {
  const theta = settings.number("theta", 1);
  return plain((x) => where(greater(x, theta), x, 0));
};

const softmaxKind: LayerKind = (settings) => {
  const axis = settings.number("axis", -1);
  return plain((x) => softmax(x, axis));
};

/** Dropout of the mask that `shapeOf` broadcasts. */
const droppingOut =
  (shapeOf: (x: Tensor) => readonly number[]): LayerKind =>
  (settings) => {
    const rate = settings.number("rate");
    if (!(rate >= 0 && rate < 1)) settings.refuse(`rate: ${rate} is not in 0 … 1`);
    settings.expect("noise_shape");
    return plain((x, call: Call) =>
      call.training && rate > 0 ? dropOut(x, call.kept(rate, shapeOf(x)), rate) : x,
    );
  };

const [dropout, spatialDropout] = [
  droppingOut(({ shape }) => shape),
  droppingOut(({ shape }) => shape.map((size, axis) => (axis === 0 || axis === shape.length - 1 ? size : 1))),
];

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

const rescaling: LayerKind = (settings) => {
  const [scale, offset] = [settings.number("scale"), settings.number("offset", 0)];
  return plain((x) => add(mul(x, scale), offset));
};

export const CORE_LAYERS: Readonly<Record<string, LayerKind>> = {
  Dense: dense,
  Activation: activation,
  ReLU: reluKind,
  LeakyReLU: leakyReluKind,
  PReLU: prelu,
  ELU: eluKind,
  ThresholdedReLU: thresholdRelu,
  Softmax: softmaxKind,
  Dropout: dropout,
  SpatialDropout1D: spatialDropout,
  SpatialDropout2D: spatialDropout,
  Embedding: embedding,
  Rescaling: rescaling,
};
