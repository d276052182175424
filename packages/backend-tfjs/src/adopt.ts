import { type HostTensor, MpError } from "@mp/graph";

/** The part of a `tf.Tensor` that is read. */
interface TfTensor {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly dataId: object;
  readonly isDisposed: boolean;
  dataSync(): ArrayLike<unknown>;
  dispose(): void;
}

/** The dtype and array type for each tfjs dtype. Graphs have no `complex64` and no `string`. */
const adopted = new Map([
  ["float32", { own: "f32", arrayOf: Float32Array }],
  ["int32", { own: "i32", arrayOf: Int32Array }],
  ["bool", { own: "bool", arrayOf: Uint8Array }],
] as const satisfies [string, object][]);

export function isTfTensor(value: unknown): value is TfTensor {
  return (
    typeof value === "object" &&
    value !== null &&
    "dataId" in value &&
    "isDisposed" in value &&
    "dataSync" in value &&
    typeof value.dataSync === "function"
  );
}

/**
 * Converts a `tf.Tensor` of any tfjs backend to a host tensor. Data that was only fed to tfjs is returned as a view;
 * data that tfjs computed is read back once and cached by tfjs.
 * @throws MP_DISPOSED, MP_UNSUPPORTED for complex numbers and strings
 */
export function adoptTensor(value: TfTensor): HostTensor {
  const { dtype, shape, isDisposed } = value;
  if (isDisposed) {
    throw new MpError(
      "MP_DISPOSED",
      `tf.Tensor ${dtype} [${shape}] has been disposed, keep it until the step has resolved`,
    );
  }
  const found = adopted.get(dtype as "float32");
  if (found === undefined) {
    throw new MpError(
      "MP_UNSUPPORTED",
      `tf.Tensor is ${dtype}, which no graph has, cast it to float32, int32 or bool`,
      { details: { dtype } },
    );
  }
  const { own, arrayOf } = found;
  const read = value.dataSync();
  const data = read instanceof arrayOf ? read : arrayOf.from(read as ArrayLike<number>);
  return { dtype: own, shape: [...shape], data } as HostTensor;
}
