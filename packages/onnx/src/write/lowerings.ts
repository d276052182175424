import { FAMILIES, type OpOf, rowsOf } from "@mp/graph";
import { codeOfElementType } from "../element-type.js";
import { int, type OnnxAttributes } from "../model.js";
import { OWN_DOMAIN } from "../own-domain.js";
import { batchNormalizationLowerings } from "./batch-normalization.js";
import { convolutionLowerings } from "./convolution.js";
import { indexingLowerings } from "./indexing.js";
import { scan } from "./loop.js";
import type { LoweringTable } from "./lowering.js";
import { movementLowerings } from "./movement.js";
import { onnxAttributes, plain } from "./plain.js";
import { poolingLowerings } from "./pooling.js";
import { reduceLowerings } from "./reduce.js";
import { sourceLowerings } from "./source.js";
import { throughF16 } from "./through-f16.js";
import { castAttributes, clip } from "./unary.js";

const F32 = int(codeOfElementType("f32"));

/** The attribute that makes normalizations compute their statistics in f32. */
const stashType = (): OnnxAttributes => ({ stash_type: F32 });

/** Lowers every op to standard ONNX of opset 23, in every dtype that the graph allows for it. */
export const standardLowerings: LoweringTable = {
  ...rowsOf(FAMILIES.unary, () => plain<OpOf<"unary">>()),
  ...rowsOf(FAMILIES.binary, () => plain<OpOf<"binary">>()),
  LeakyRelu: plain(["alpha"]),
  Elu: plain(["alpha"]),
  Gelu: plain(["approximate"]),
  Clip: clip,
  Cast: plain([], ({ attributes: { to } }) => castAttributes(to)),
  Where: throughF16(plain()),
  Mod: plain(["fmod"]),
  MatMul: plain(),
  Einsum: plain(["equation"]),
  Gemm: plain(["transA", "transB", "alpha", "beta"]),
  Attention: plain(["scale", "isCausal", "softcap"], () => ({ softmax_precision: F32 })),
  AttentionGradient: (node, operands, writer) => {
    if (!writer.keepsOwnOps) throw new Error(`internal: ${node.name} is written as products and a softmax`);
    const attributes = onnxAttributes(node, "scale", "isCausal", "softcap");
    return writer.emit("AttentionGradient", operands, attributes, { domain: OWN_DOMAIN, outputs: 3 });
  },
  ...convolutionLowerings,
  ...reduceLowerings,
  ...poolingLowerings,
  Softmax: plain(["axis"]),
  LogSoftmax: plain(["axis"]),
  LayerNormalization: plain(["axis", "epsilon"], stashType),
  RMSNormalization: plain(["axis", "epsilon"], stashType),
  SoftmaxCrossEntropyLoss: plain(["reduction", "ignoreIndex"]),
  NegativeLogLikelihoodLoss: plain(["reduction", "ignoreIndex"]),
  ...batchNormalizationLowerings,
  ...movementLowerings,
  ...indexingLowerings,
  Scan: scan,
  ...sourceLowerings,
};
