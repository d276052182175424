/** The names that parameters and statistics of a model have in the file it was read from, by path. */
export interface FileNames {
  readonly parameters: ReadonlyMap<string, string>;
  readonly statistics: ReadonlyMap<string, string>;
  /** Names of the model's inputs and outputs. */
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
}

const known = new WeakMap<object, FileNames>();

export function keepFileNames(model: object, names: FileNames): void {
  known.set(model, names);
}

/** The names in the file of a model that was read from one; undefined for any other model. */
export function findFileNames(model: object): FileNames | undefined {
  return known.get(model);
}
