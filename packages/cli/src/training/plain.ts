import type { CommonOptions } from "../common-flags.js";

/** The same run in float32, with the app's own flags that belong to a half as they are without one. */
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
