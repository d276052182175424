// Layers of one input without windows: dense ones, activations, dropouts, shapes.
import type { Tensor } from "@mp/core";
import {
  add,
  cast,
  clip,
  elu,
  expand,
  gather,
  greater,
  leakyRelu,
  matMul,
  mul,
  neg,
  pad,
  relu,
  reshape,
  slice,
  softmax,
  sub,
  transpose,
  unsqueeze,
  where,
} from "@mp/core/ops";
import { activationOf } from "../activations-table.js";
import { type Call, dropped, inputOf, type LayerKind, named, plain } from "../plan.js";
import { channelsFirst, formatOf, spatialAxes } from "./channels.js";

const dense: LayerKind = (settings) => {
  const usesBias = settings.flag("use_bias", true);
  const activation = activationOf(settings, "activation", "linear");
  return {
    weights: named("kernel", ...(usesBias ? ["bias"] : [])),
    run: (call) => {
      const y = matMul(inputOf(call), call.weight("kernel"));
      return activation(usesBias ? add(y, call.weight("bias")) : y);
    },
  };
};

const activation: LayerKind = (settings) => {
  const compute = activationOf(settings, "activation", "linear");
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
  weights: named("alpha"),
  run: (call) => {
    const x = inputOf(call);
    return sub(relu(x), mul(call.weight("alpha"), relu(neg(x))));
  },
});

const eluKind: LayerKind = (settings) => {
  const alpha = settings.number("alpha", 1);
  return plain((x) => elu(x, alpha));
};

const thresholdedRelu: LayerKind = (settings) => {
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
      call.training && rate > 0 ? dropped(x, call.kept(rate, shapeOf(x)), rate) : x,
    );
  };

const [dropout, spatialDropout] = [
  droppingOut(({ shape }) => shape),
  droppingOut(({ shape }) => shape.map((size, axis) => (axis === 0 || axis === shape.length - 1 ? size : 1))),
];

const flatten: LayerKind = (settings) => {
  const format = formatOf(settings);
  return plain((x) => {
    const order = [0, ...x.shape.map((_, axis) => axis).slice(2), 1];
    const last = format === "channels_first" && x.shape.length > 2 ? transpose(x, order) : x;
    return reshape(last, [x.shape[0] ?? 1, -1]);
  });
};

const reshapeKind: LayerKind = (settings) => {
  const target = settings.list("target_shape");
  return plain((x) => reshape(x, [x.shape[0] ?? 1, ...target]));
};

const permute: LayerKind = (settings) => {
  const order = settings.list("dims");
  return plain((x) => transpose(x, [0, ...order]));
};

const repeatVector: LayerKind = (settings) => {
  const count = settings.number("n");
  return plain((x) => expand(unsqueeze(x, [1]), [x.shape[0] ?? 1, count, ...x.shape.slice(1)]));
};

const zeroPadding =
  (axes: number): LayerKind =>
  (settings) => {
    const [margins, format] = [settings.margins("padding", axes), formatOf(settings)];
    return plain((x) => {
      const padded = spatialAxes(x, format);
      return pad(
        x,
        x.shape.map((_, axis) => margins[padded.indexOf(axis)] ?? ([0, 0] as const)),
      );
    });
  };

const cropping =
  (axes: number): LayerKind =>
  (settings) => {
    const [margins, format] = [settings.margins("cropping", axes), formatOf(settings)];
    return plain((x) => {
      const ranges = spatialAxes(x, format).map((axis, at) => {
        const [before, after] = margins[at] ?? [0, 0];
        return { axis, start: before, end: (x.shape[axis] ?? 0) - after };
      });
      return slice(x, ranges);
    });
  };

/** Each element `times` times in a row along the axis. */
function repeated(x: Tensor, axis: number, times: number): Tensor {
  if (times === 1) return x;
  const [before, after] = [x.shape.slice(0, axis + 1), x.shape.slice(axis + 1)];
  const spread = expand(unsqueeze(x, [axis + 1]), [...before, times, ...after]);
  return reshape(spread, [...x.shape.slice(0, axis), (x.shape[axis] ?? 1) * times, ...after]);
}

const upSampling =
  (axes: number): LayerKind =>
  (settings) => {
    const [times, format] = [settings.numbers("size", axes, 2), formatOf(settings)];
    settings.expect("interpolation", "nearest");
    return plain((x) =>
      channelsFirst(x, format, (first) =>
        times.reduce((y, factor, axis) => repeated(y, axis + 2, factor), first),
      ),
    );
  };

const embedding: LayerKind = (settings) => {
  settings.expect("mask_zero", false);
  return {
    weights: named("embeddings"),
    run: (call) => {
      const indices = inputOf(call);
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
  ThresholdedReLU: thresholdedRelu,
  Softmax: softmaxKind,
  Dropout: dropout,
  SpatialDropout1D: spatialDropout,
  SpatialDropout2D: spatialDropout,
  Flatten: flatten,
  Reshape: reshapeKind,
  Permute: permute,
  RepeatVector: repeatVector,
  ZeroPadding1D: zeroPadding(1),
  ZeroPadding2D: zeroPadding(2),
  Cropping1D: cropping(1),
  Cropping2D: cropping(2),
  UpSampling1D: upSampling(1),
  UpSampling2D: upSampling(2),
  Embedding: embedding,
  Rescaling: rescaling,
};
