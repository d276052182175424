/** Names in the file that a model was read from: parameters and statistics by path, inputs and outputs. */
export interface FileNames {
  readonly parameters: ReadonlyMap<string, string>;
  readonly statistics: ReadonlyMap<string, string>;
  /** Names of the inputs, in the order of the file. */
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
}

/** The names in the file of each model that was read from a file. */
export const fileNames: WeakMap<object, FileNames> = new WeakMap();
