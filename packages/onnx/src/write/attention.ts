import type { OpOf } from "@mp/core/graph";
import { codeOfElementType } from "../element-type.js";
import { float, int } from "../model.js";
import type { LoweringTable } from "./lowering.js";
import { plain } from "./plain.js";

export const attentionLowerings: LoweringTable<OpOf<"attention">> = {
  Attention: plain(({ attributes: { scale, isCausal, softcap } }) => ({
    scale: float(scale),
    is_causal: int(isCausal ? 1 : 0),
    softcap: float(softcap),
    softmax_precision: int(codeOfElementType("f32")),
  })),
};
