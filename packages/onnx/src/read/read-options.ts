import type { HostTensor } from "@mp/graph";
import type { ReadLimits } from "../read-limits.js";
import type { Folds } from "./fold-decisions.js";
import type { InitializerRole } from "./initializer-roles.js";
import type { Warn } from "./read-warnings.js";

/** Options of `fromOnnx` beyond those of `readGraph`. */
export interface InnerReadOptions extends ReadOptions {
  /** Inputs that are i64 in the model and i32 in the graph. */
  readonly narrowInputs?: ReadonlySet<string>;
  /** Whether Dropout nodes drop out, which takes `drawsAreInputs`. */
  readonly dropsOut?: boolean;
  /** Whether masks and random numbers are inputs; otherwise a graph draws the same numbers in every run. */
  readonly drawsAreInputs?: boolean;
  /** Which nodes are evaluated, by the names of their first outputs: followed, and completed. */
  readonly folds?: Folds;
}

export interface ReadOptions {
  /** Sizes that the model leaves open: of a named dimension by its name, of any other by `input[axis]`. */
  readonly sizes?: Readonly<Record<string, number>>;
  /**
   * Which initializers, and Constant nodes of floats with dimensions, are parameters, to be trained; the others are
   * constants. By default these are weights, biases, scales and tables, but not running statistics, masks, tables of
   * sines and single numbers: `byDefault` says which and why.
   */
  readonly isParameter?: (name: string, tensor: HostTensor, byDefault: InitializerRole) => boolean;
  /** Limits on the work that the graph asks of an engine; more is refused. */
  readonly limits?: ReadLimits;
  /**
   * Called with each warning: initializers in a place of weights that are not trained, one that several layers share, an
   * output whose declared shape is not what it is. Default prints it to stderr.
   */
  readonly onWarning?: Warn;
}
