/** The names that parameters and statistics of a model have in the file it was read from, by path. */
export interface FileNames {
  readonly parameters: ReadonlyMap<string, string>;
  readonly statistics: ReadonlyMap<string, string>;
  /** Names of the model's inputs and outputs. */
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
}

/** The names in the file of each model that was read from one. */
export const fileNames: WeakMap<object, FileNames> = new WeakMap();
