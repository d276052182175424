import type { Flags } from "./pjrt/index.js";

/**
 * XLA's flags for results that are rounded where the graph says, and the same in every run. The processor's and the
 * card's are known to the plugins of both, which share one list; other platforms may lack them.
 */
export const EXACT_FLAGS: Flags = {
  // Otherwise casts to a half and back may be left out.
  xla_allow_excess_precision: false,
  // Otherwise the greater of 1 and NaN is 1.
  xla_cpu_enable_fast_min_max: false,
  // Otherwise scatters add in the order in which threads come.
  xla_gpu_exclude_nondeterministic_ops: true,
};
