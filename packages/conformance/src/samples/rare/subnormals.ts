/** Numbers below the smallest normal one, through every op that moves, adds or multiplies them by 1. */
import type { DType, HostTensor, Shape } from "@mp/core";
import { type FloatDType, floatFormats, type Op, type OpAttributes } from "@mp/core/graph";
import { backwards, generated, hostData } from "../../host-data.js";
import { exact, sample } from "../op-sample.js";
import { HALVES_TOO, type RareRow, type RareRows } from "../rare-row.js";

/** Whole multiples of the smallest number, of either sign: their sums are exact. */
function small(dtype: DType, shape: Shape): HostTensor {
  const { minSubnormal } = floatFormats[dtype as FloatDType];
  return generated(dtype, shape, (at) => (((at * 3) % 7) - 3) * minSubnormal);
}

/** Moved as bits, in f8 too. */
const MOVED: readonly FloatDType[] = ["f32", "f16", "bf16", "f8e4m3", "f8e5m2"];

function moved<K extends Op>(attributes: OpAttributes[K], ...shapes: readonly Shape[]): RareRow<K> {
  return {
    dtypes: MOVED,
    samples: (dtype) => ({
      subnormals: [sample<K>(attributes, ...shapes.map((shape) => small(dtype, shape)))],
    }),
  };
}

function indexed<K extends Op>(attributes: OpAttributes[K], indices: Shape, updates?: Shape): RareRow<K> {
  return {
    dtypes: MOVED,
    samples: (dtype) => ({
      subnormals: [
        sample<K>(
          attributes,
          small(dtype, [5, 3]),
          hostData("i32", [4, 0, 2], indices),
          ...(updates === undefined ? [] : [small(dtype, updates)]),
        ),
      ],
    }),
  };
}

/** One operand through an op that picks among its elements. */
function chosen<K extends Op>(attributes: OpAttributes[K], shape: Shape = [5, 7]): RareRow<K> {
  return {
    dtypes: HALVES_TOO,
    samples: (dtype) => ({ subnormals: [exact<K>(attributes, small(dtype, shape))] }),
  };
}

/** The greater or the smaller of two, either way round. */
function chosenOfTwo<K extends "Max" | "Min">(): RareRow<K> {
  return {
    dtypes: HALVES_TOO,
    samples: (dtype) => {
      const x = small(dtype, [5, 7]);
      return {
        subnormals: [
          exact<K>({} as OpAttributes[K], x, backwards(x)),
          exact<K>({} as OpAttributes[K], backwards(x), x),
        ],
      };
    },
  };
}

const where: RareRow<"Where"> = {
  dtypes: MOVED,
  samples: (dtype) => ({
    subnormals: [
      sample<"Where">(
        {},
        generated("bool", [5, 7], (at) => at % 2),
        small(dtype, [5, 7]),
        small(dtype, [7]),
      ),
    ],
  }),
};

const along = (...axes: readonly number[]) => ({ axes, keepdims: false });

function reduced<K extends "ReduceSum" | "ReduceMax" | "ReduceMin" | "ReduceL1">(): RareRow<K> {
  return {
    dtypes: HALVES_TOO,
    samples: (dtype) =>
      ({
        subnormals: [[0], [1], [0, 1]].map((axes) =>
          exact<"ReduceSum">(along(...axes), small(dtype, [5, 7])),
        ),
      }) as never,
  };
}

const identity = (dtype: DType, size: number): HostTensor =>
  generated(dtype, [size, size], (at) => (at % (size + 1) === 0 ? 1 : 0));

const matMul: RareRow<"MatMul"> = {
  dtypes: HALVES_TOO,
  samples: (dtype) => ({
    subnormals: [
      exact<"MatMul">({}, small(dtype, [3, 5]), identity(dtype, 5)),
      exact<"MatMul">({}, identity(dtype, 5), small(dtype, [5, 3])),
      exact<"MatMul">(
        {},
        small(dtype, [3, 5]),
        generated(dtype, [5, 2], () => 1),
      ),
    ],
  }),
};

const gemm: RareRow<"Gemm"> = {
  dtypes: HALVES_TOO,
  samples: (dtype) => {
    const attributes = { transA: false, transB: true, alpha: 1, beta: 1 };
    return {
      subnormals: [exact<"Gemm">(attributes, small(dtype, [3, 5]), identity(dtype, 5), small(dtype, [5]))],
    };
  },
};

export const rareSubnormals: RareRows = {
  Identity: moved<"Identity">({}, [5, 7]),
  Reshape: moved<"Reshape">({ shape: [7, 5] }, [5, 7]),
  Transpose: moved<"Transpose">({ perm: [1, 0] }, [5, 7]),
  Slice: moved<"Slice">({ axes: [1], starts: [1], ends: [6], steps: [1] }, [5, 7]),
  Concat: moved<"Concat">({ axis: 0 }, [5, 3], [2, 3]),
  Expand: moved<"Expand">({ shape: [3, 5, 7] }, [5, 7]),
  Pad: moved<"Pad">({ pads: [1, 1, 1, 1], mode: "edge", value: 0 }, [5, 7]),
  Tile: moved<"Tile">({ repeats: [2, 2] }, [5, 3]),
  Split: moved<"Split">({ axis: 1, split: [3, 4] }, [5, 7]),
  Squeeze: moved<"Squeeze">({ axes: [1] }, [5, 1, 7]),
  Unsqueeze: moved<"Unsqueeze">({ axes: [1] }, [5, 7]),
  Where: where,
  Max: chosenOfTwo<"Max">(),
  Min: chosenOfTwo<"Min">(),
  Abs: chosen<"Abs">({}),
  Neg: chosen<"Neg">({}),
  Relu: chosen<"Relu">({}),
  Clip: chosen<"Clip">({ min: -1, max: 1 }),
  TopK: chosen<"TopK">({ axis: 1, k: 4, largest: true }),
  CumSum: chosen<"CumSum">({ axis: 1, exclusive: false, reverse: false }),
  GatherElements: indexed<"GatherElements">({ axis: 0 }, [1, 3]),
  ScatterElements: {
    ...indexed<"ScatterElements">({ axis: 0, reduction: "none" }, [1, 3], [1, 3]),
    dtypes: HALVES_TOO,
  },
  Gather: indexed<"Gather">({ axis: 0 }, [3]),
  GatherND: indexed<"GatherND">({ batchDims: 0 }, [3, 1]),
  ScatterND: indexed<"ScatterND">({ reduction: "none" }, [3, 1], [3, 3]),
  ReduceSum: reduced<"ReduceSum">(),
  ReduceMax: reduced<"ReduceMax">(),
  ReduceMin: reduced<"ReduceMin">(),
  ReduceL1: reduced<"ReduceL1">(),
  MatMul: matMul,
  Gemm: gemm,
};
