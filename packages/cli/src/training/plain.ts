import type { CommonOptions } from "../common-flags.js";

/** The options of the same run in float32. `own` replaces the app's flags that need a half dtype. */
export function plainOptions<O extends CommonOptions>(options: O, own: Partial<O> = {}): O {
  return {
    ...options,
    ...own,
    precision: "float32",
    lossScale: undefined,
    initialScale: undefined,
    masterWeights: "f32",
  };
}
