/**
 * The part of tfjs-node that is used, as a structural interface: users pass their own `tf`, and any release
 * or variant of the package with these members works.
 */

/** A result of the native addon: `id` identifies the tensor, `dtype` is TensorFlow's DataType. */
export interface TfjsTensorMetadata {
  readonly id: number;
  readonly shape: readonly number[];
  readonly dtype: number;
}

/** The native addon of tfjs-node, which identifies tensors and models by numeric ids. */
export interface TfjsBinding {
  readonly TF_Version: string;
  readonly TF_FLOAT: number;
  readonly TF_INT32: number;
  readonly TF_INT64: number;
  readonly TF_BOOL: number;
  createTensor(shape: readonly number[], dtype: number, buffer: ArrayBufferView): number;
  deleteTensor(tensorId: number): void;
  tensorDataSync(tensorId: number): Float32Array | Int32Array | Uint8Array;
  loadSavedModel(exportDirectory: string, tags: string): number;
  deleteSavedModel(savedModelId: number): void;
  /** Runs a model. Names are joined by commas, each as `name:0`; results are in the order of the outputs. */
  runSavedModel(
    savedModelId: number,
    inputTensorIds: readonly number[],
    inputNames: string,
    outputNames: string,
  ): readonly TfjsTensorMetadata[];
  isUsingGpuDevice(): boolean;
}

/** `import * as tf from "@tensorflow/tfjs-node"`, or from `@tensorflow/tfjs-node-gpu`. */
export interface TfjsNode {
  /** Release of each package: `tfjs-node`, `tfjs-core` and others. */
  readonly version: Readonly<Record<string, string>>;
  /** The tfjs backend registered under a name, whether or not it is active. */
  findBackend(name: string): object;
}
