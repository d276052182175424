// What a page that trains takes of core and the writer of ONNX models, for the check `size`: all of the trainer (fit,
// evaluate, saveBytes and loadBytes are its methods), an optimizer with its schedules, every precision with master weights
// and the dynamic loss scaler, reports of it, the operators of a convolution network, and what a backend on an engine of
// ONNX models is made of. Not in it: layers (@mp/nn), the lowering for an engine, the engine, and the reference backend
// with the probes that compare an engine with it, which a backend loads when it has to ask an engine what it can do.
import {
  adamW,
  bfloat16,
  clipByGlobalNorm,
  cosineDecay,
  dynamicLossScale,
  f32Master,
  float16,
  float32,
  foldIn,
  formatCastReport,
  key,
  loadParameters,
  MpError,
  mixed,
  mixedBfloat16,
  mixedFloat16,
  predictor,
  sgd,
  tensor,
  trainer,
  warmup,
} from "@mp/core";
import { defineBackend, exactNumerics, libraryTolerance, opSupport } from "@mp/core/backend";
import { emulateHalves, expandComposites, GraphBuilder, peakLiveBytes, widenNodes } from "@mp/core/graph";
import { argMax, conv, equal, matMul, maxPool, relu, reshape, softmaxCrossEntropyLoss } from "@mp/core/ops";
import { bodiesOf, encodeModel, mapBodies, sourceOfNode, writeGraph } from "@mp/onnx/write";

globalThis.training = {
  ...{ adamW, sgd, clipByGlobalNorm, cosineDecay, warmup, key, foldIn, tensor, MpError },
  ...{ trainer, predictor, loadParameters, formatCastReport, dynamicLossScale, f32Master },
  ...{ mixed, mixedFloat16, mixedBfloat16, float16, bfloat16, float32 },
  ...{ argMax, conv, equal, matMul, maxPool, relu, reshape, softmaxCrossEntropyLoss },
  ...{ defineBackend, exactNumerics, libraryTolerance, opSupport },
  ...{ emulateHalves, expandComposites, GraphBuilder, peakLiveBytes, widenNodes },
  ...{ bodiesOf, encodeModel, mapBodies, sourceOfNode, writeGraph },
};
