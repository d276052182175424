import type { OpOf } from "../../graph/families.js";
import type { GradientTable } from "./rule.js";

export const loopGradients: GradientTable<OpOf<"loop">> = {
  Scan: { notDifferentiable: "a scan" },
};
