// The smallest useful backend: a few operators in f32. It refuses everything else.

import { type Backend, broadcastShapes, tensor } from "@mp/graph";
import { exactNumerics, type Kernel, kernelBackend } from "@mp/graph/backend";

type F32 = Float32Array;
type Elementwise = Kernel<unknown, F32>;

const unary =
  (f: (x: number) => number): Elementwise =>
  ([x]) => [(x?.data ?? new Float32Array()).map(f)];

/** Reads each operand as if it were broadcast to the result's shape. */
const binary =
  (f: (a: number, b: number) => number): Elementwise =>
  ([a, b]) => {
    if (a === undefined || b === undefined) return [];
    const shape = broadcastShapes(a.shape, b.shape, "binary");
    const out = new Float32Array(shape.reduce((size, dimension) => size * dimension, 1));
    const place = (own: readonly number[], at: number): number => {
      let [rest, source, stride] = [at, 0, 1];
      for (let axis = shape.length - 1; axis >= 0; axis--) {
        const size = shape[axis] as number;
        const dimension = own[axis - shape.length + own.length] ?? 1;
        if (dimension !== 1) source += (rest % size) * stride;
        stride *= dimension;
        rest = Math.floor(rest / size);
      }
      return source;
    };
    return [
      out.map((_, at) => f(a.data[place(a.shape, at)] as number, b.data[place(b.shape, at)] as number)),
    ];
  };

export const myBackend = (): Backend =>
  kernelBackend<F32>({
    name: "mine",
    manifest: {
      engine: { name: "arithmetic", version: "1" },
      device: "cpu",
      dtypes: { f32: { storage: "f32", compute: "native" } },
      ...exactNumerics,
      tolerance: { default: { f32: 0, f16: 0, bf16: 0 } },
      eventLoop: "blocked-during-step",
    },
    kernels: {
      Neg: unary((x) => -x),
      Abs: unary(Math.abs),
      Relu: unary((x) => Math.max(x, 0)),
      Add: binary((a, b) => a + b),
      Mul: binary((a, b) => a * b),
    },
    upload: ({ data }) => Float32Array.from(data as F32),
    download: (data, { shape }) => tensor(data.slice(), shape),
  });
