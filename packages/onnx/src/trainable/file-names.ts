/** Names in a file of the parameters and statistics of a model that was read from it, by their paths. */
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

/** The names of a model that was read from a file; undefined for any other. */
export function findFileNames(model: object): FileNames | undefined {
  return known.get(model);
}
