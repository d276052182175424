// Runs an ONNX file in plain onnxruntime-node, and compares its output with PyTorch's.
import { type HostTensor, tensor } from "@mp/core";
import * as engine from "onnxruntime-node";

type Inputs = Readonly<Record<string, HostTensor>>;

/** A session of one file, open while a function runs. */
export interface PlainSession {
  run(inputs: Inputs): Promise<engine.InferenceSession.ReturnType>;
  /** The largest difference of an output from PyTorch's, at the same batch and at three times its rows. */
  difference(inputs: Inputs, name: string, wanted: HostTensor): Promise<number>;
}

/** Opens a file in plain onnxruntime-node, on one thread, for as long as the function runs. */
export async function inSession<R>(
  bytes: Uint8Array,
  use: (session: PlainSession) => Promise<R>,
): Promise<R> {
  const session = await engine.InferenceSession.create(bytes, { intraOpNumThreads: 1 });
  const run = (inputs: Inputs) =>
    session.run(Object.fromEntries(Object.entries(inputs).map(([name, given]) => [name, toFeed(given)])));
  const difference = async (inputs: Inputs, name: string, wanted: HostTensor): Promise<number> => {
    const found: number[] = [];
    for (const times of [1, 3]) {
      const more = Object.entries(inputs).map(([key, given]) => [key, repeatRows(given, times)] as const);
      const { [name]: output } = await run(Object.fromEntries(more));
      const got = tensor(output?.data as Float32Array, [...(output?.dims ?? [])]);
      found.push(furthest(got, repeatRows(wanted, times)));
    }
    return Math.max(...found);
  };
  try {
    return await use({ run, difference });
  } finally {
    await session.release();
  }
}

const toFeed = ({ dtype, shape, data }: HostTensor): engine.Tensor =>
  dtype === "i64"
    ? new engine.Tensor("int64", data as BigInt64Array, shape)
    : new engine.Tensor("float32", data as Float32Array, shape);

/** The largest difference of elements; infinite if the shapes differ. */
export function furthest(found: HostTensor, wanted: HostTensor): number {
  if (found.shape.join() !== wanted.shape.join()) return Number.POSITIVE_INFINITY;
  const [a, b] = [found.data as Float32Array, wanted.data as Float32Array];
  return a.reduce((most, value, index) => Math.max(most, Math.abs(value - (b[index] ?? NaN))), 0);
}

/** A tensor whose rows are repeated several times. */
function repeatRows({ dtype, shape, data }: HostTensor, times: number): HostTensor {
  const all = Array.from({ length: times }, () => [
    ...(data as ArrayLike<number | bigint> & Iterable<number>),
  ]).flat();
  const [rows = 0, ...rest] = shape;
  const array = dtype === "i64" ? BigInt64Array.from(all as unknown as bigint[]) : Float32Array.from(all);
  return tensor(array as Float32Array, [times * rows, ...rest]);
}
