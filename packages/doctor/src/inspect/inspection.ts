export interface InspectedTensor {
  readonly name: string;
  /** The dtype as the file names it: `F32` in a checkpoint, `f32` in an ONNX model. */
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly bytes: number;
  /** The value of a scalar in a checkpoint. */
  readonly value?: number | string;
}

export interface CheckpointInspection {
  readonly kind: "checkpoint";
  readonly path: string;
  /** Whether a run of `trainer` wrote the file. The settings are then those of the run. */
  readonly isTraining: boolean;
  /** The metadata: for a training run, its optimizer, precision, loss scaler and position in the data. */
  readonly settings: Readonly<Record<string, string>>;
  /** Tensors and bytes by the first part of the names: `master`, `optimizer`, `scaler`. */
  readonly groups: Readonly<Record<string, { readonly tensors: number; readonly bytes: number }>>;
  readonly tensors: readonly InspectedTensor[];
}

export interface OnnxInspection {
  readonly kind: "onnx";
  readonly path: string;
  readonly irVersion: number;
  /** Version of each domain's operator set; `""` is ONNX's own. */
  readonly opsets: Readonly<Record<string, number>>;
  readonly producer: string;
  readonly inputs: readonly InspectedValue[];
  readonly outputs: readonly InspectedValue[];
  /** Number of nodes by operator, including bodies and functions; the most frequent operator first. */
  readonly operators: Readonly<Record<string, number>>;
  /** Operators that `fromOnnx` and `readGraph` do not read. */
  readonly notRead: readonly string[];
  readonly settings: Readonly<Record<string, string>>;
  /** The nodes of the graph in the order of the file, without those of bodies and functions. */
  readonly nodes: readonly InspectedNode[];
  readonly tensors: readonly InspectedTensor[];
  /** Other files with data of the model's tensors. */
  readonly dataFiles: readonly string[];
}

export interface InspectedNode {
  readonly operator: string;
  /** Names of the inputs; `""` for an omitted one. */
  readonly inputs: readonly string[];
  /** Names of the results, which `fromOnnx` takes as `outputs`. */
  readonly outputs: readonly string[];
}

export interface InspectedValue {
  readonly name: string;
  readonly dtype: string;
  /** The sizes; text is the name of a size that is not fixed. */
  readonly shape: readonly (number | string)[] | undefined;
}

/** The content of a file, by `inspectFile`. */
export type Inspection = CheckpointInspection | OnnxInspection;
