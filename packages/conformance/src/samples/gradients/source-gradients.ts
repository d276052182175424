import type { OpOf } from "@mp/core/graph";
import type { GradientRows } from "../gradient-sample.js";
import { PREDICATE, SOURCE } from "./of-operands.js";

export const sourceGradients: GradientRows<OpOf<"source">> = {
  Constant: SOURCE,
  Range: SOURCE,
  RandomBits: PREDICATE,
  Barrier: { none: "is put in by core, behind remat, whose cases train" },
};
