import type { HostTensor } from "@mp/graph";
import type { ReadLimits } from "../read-limits.js";
import type { Folds } from "./fold-decisions.js";
import type { InitializerRole } from "./initializer-roles.js";
import type { Warn } from "./read-warnings.js";

/** Options that `fromOnnx` adds to those of `readGraph`. */
export interface InnerReadOptions extends ReadOptions {
  /** Inputs that are i64 in the model and i32 in the graph. */
  readonly narrowInputs?: ReadonlySet<string>;
  /** Whether Dropout nodes drop values; requires `drawsAreInputs`. */
  readonly dropsOut?: boolean;
  /** Whether masks and random numbers are inputs; otherwise the graph draws the same numbers in every run. */
  readonly drawsAreInputs?: boolean;
  /** Decisions on which nodes are evaluated. Reading follows these and adds decisions for further nodes. */
  readonly folds?: Folds;
}

export interface ReadOptions {
  /** Sizes that the model leaves open: by the dimension's name, or by `input[axis]` if it has no name. */
  readonly sizes?: Readonly<Record<string, number>>;
  /**
   * Decides which float initializers, and float Constant nodes that are not scalars, are trained parameters; the others
   * are constants. Default: weights, biases, scales and tables are parameters, but not running statistics, masks,
   * tables of sines and single numbers. `byDefault` gives this role and its reason.
   */
  readonly isParameter?: (name: string, tensor: HostTensor, byDefault: InitializerRole) => boolean;
  /** Limits on an engine's work; a graph that exceeds a limit is refused. */
  readonly limits?: ReadLimits;
  /**
   * Called with each warning: an untrained initializer that is used like a weight, a parameter that several
   * layers share, an output that differs from its declared shape. By default, warnings go to stderr.
   */
  readonly onWarning?: Warn;
}
