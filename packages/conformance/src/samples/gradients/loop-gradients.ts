import type { OpOf } from "@mp/core/graph";
import type { GradientRows } from "../gradient-sample.js";

export const loopGradients: GradientRows<OpOf<"loop">> = {
  Scan: { none: "has no gradient yet" },
};
