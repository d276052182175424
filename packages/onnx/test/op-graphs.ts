// A graph of one node for every op, attribute and dtype: core's own cases, each in every dtype that its op takes, and
// the corners that matter to a file.
import { readFileSync } from "node:fs";
import {
  DTYPES,
  type DType,
  decidingDType,
  encode,
  type Graph,
  GraphBuilder,
  type HostTensor,
  hostArrayOf,
  inferTypes,
  isFloat,
  MpError,
  type Op,
  type OpAttributes,
  opDTypes,
  tensor,
  type ValueType,
  zeros,
} from "@mp/graph";

interface OpCase {
  readonly name: string;
  readonly op: Op;
  readonly attributes: OpAttributes[Op];
  readonly inputs: readonly CaseInput[];
}
interface CaseInput extends ValueType {
  readonly data?: readonly (number | string)[];
}

export interface OpGraph {
  readonly name: string;
  readonly op: Op;
  readonly dtype: DType;
  readonly graph: Graph;
  readonly inputs: Readonly<Record<string, HostTensor>>;
}

const f32 = (...shape: number[]): ValueType => ({ dtype: "f32", shape });
const f16 = (...shape: number[]): ValueType => ({ dtype: "f16", shape });
const i32 = (...shape: number[]): ValueType => ({ dtype: "i32", shape });
const drawn: CaseInput = { dtype: "i32", shape: [], data: [2 ** 31 - 6] };

const corner = <K extends Op>(
  op: K,
  name: string,
  attributes: OpAttributes[K],
  inputs: readonly CaseInput[],
): OpCase => ({ op, name: `${op}: ${name}`, attributes, inputs });

/** Returns each element one step later. */
function delay(dtype: DType, reverse: boolean): OpAttributes["Scan"] {
  const builder = new GraphBuilder();
  const type = { dtype, shape: [2] };
  const [carry, element] = [
    builder.input("carry", type, "capture"),
    builder.input("element", type, "capture"),
  ];
  const next = builder.emitOne("Identity", [element], {});
  const body = builder.finish({ carry: next, y: carry });
  return { body, carries: 1, sequences: 1, length: 3, reverse, saved: 0 };
}

const overNoAxes = [
  "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum",
  "ReduceLogSumExp", "ReduceSumSquare",
] as const; // biome-ignore format: one list

const corners: readonly OpCase[] = [
  corner("Slice", "to the front", { starts: [4], ends: [-1], axes: [0], steps: [-2] }, [f32(5)]),
  corner("Slice", "of nothing", { starts: [2], ends: [2], axes: [0], steps: [1] }, [f32(5)]),
  corner("Reshape", "of no elements", { shape: [0, 3] }, [f32(3, 0)]),
  corner("Reshape", "to a scalar", { shape: [] }, [f32(1, 1)]),
  corner("Expand", "of a scalar", { shape: [2, 3] }, [f32()]),
  corner("ReduceSum", "of a scalar", { axes: [], keepdims: false }, [f32()]),
  ...overNoAxes.flatMap((op) =>
    DTYPES.filter((dtype) => opDTypes[op].includes(dtype)).map((dtype) =>
      corner(op, `over no axes in ${dtype}`, { axes: [], keepdims: false }, [{ dtype, shape: [2, 3] }]),
    ),
  ),
  corner("ReduceSum", "beyond 255", { axes: [0], keepdims: false }, [{ dtype: "u8", shape: [300] }]),
  corner("Transpose", "of a scalar", { perm: [] }, [f32()]),
  corner("Clip", "without bounds", {}, [f32(2)]),
  corner("Clip", "at a number that f16 rounds", { max: 0.1 }, [f16(2)]),
  corner("Clip", "from -0", { min: -0 }, [f32(2)]),
  corner("Pad", "with a number that f16 rounds", { pads: [1, 1], mode: "constant", value: 0.1 }, [f16(2)]),
  corner("Pad", "of bools", { pads: [1, 1], mode: "constant", value: 1 }, [{ dtype: "bool", shape: [2] }]),
  corner("Pad", "with -0", { pads: [1, 1], mode: "constant", value: -0 }, [f32(2)]),
  ...(["f32", "f16", "bf16", "i32"] as const).map((dtype) =>
    corner("OneHot", `in ${dtype}`, { axis: 1, depth: 3, dtype }, [i32(2)]),
  ),
  ...[[3, 4], [5], []].map((shape) =>
    corner("RandomBits", `of [${shape}]`, { key: 0x9bc4ab3f7d21e5d1n, shape }, [drawn]),
  ),
  // Powers of two throughout, so that its parts round as little as it does.
  ...(["f32", "f16", "bf16"] as const).map((dtype) =>
    corner("BatchNormalizationGradient", `of ${dtype}`, { epsilon: 0.25 }, [
      { dtype, shape: [2, 2, 2] },
      { dtype, shape: [2, 2, 2], data: [1, -1, 3, 5, -1, 1, 5, 3] },
      { dtype: "f32", shape: [2], data: [2, 0.5] },
      { dtype: "f32", shape: [2], data: [0, 4] },
      { dtype: "f32", shape: [2], data: [3.75, 15.75] },
    ]),
  ),
  ...(["f32", "f16", "bf16"] as const).map((dtype) =>
    corner(
      "AttentionGradient",
      `of ${dtype}`,
      { scale: 0.5, isCausal: true, softcap: 2 },
      [
        [1, 2, 3, 2],
        [1, 2, 3, 4],
        [1, 1, 5, 4],
        [1, 1, 5, 2],
        [1, 1, 3, 5],
      ].map((shape) => ({ dtype, shape })),
    ),
  ),
  ...(["f32", "f16", "bf16"] as const).flatMap((dtype) => {
    const gradient = (
      name: string,
      x: readonly number[],
      dy: readonly number[],
      window: number[],
      group = 1,
    ) => {
      const [kernel = 1, stride = 1, pad = 0, dilation = 1] = window;
      const each = (number: number, times = 1): number[] => new Array((x.length - 2) * times).fill(number);
      const attributes = {
        strides: each(stride),
        pads: each(pad, 2),
        dilations: each(dilation),
        group,
        kernelShape: each(kernel),
      };
      return corner("ConvWeightGradient", `${name} in ${dtype}`, attributes, [
        { dtype, shape: x },
        { dtype, shape: dy },
      ]);
    };
    return [
      gradient("of lines", [2, 3, 5], [2, 2, 3], [3]),
      gradient("of images", [2, 3, 5, 4], [2, 2, 5, 4], [3, 1, 1]),
      gradient("of points", [2, 3, 2, 2], [2, 4, 2, 2], [1]),
      gradient("with strides", [2, 1, 6, 5], [2, 2, 3, 3], [3, 2, 1]),
      gradient("dilated", [1, 2, 5, 5], [1, 1, 3, 3], [2, 1, 0, 2]),
      gradient("in groups", [2, 4, 4, 4], [2, 6, 3, 3], [2], 2),
      gradient("of each channel", [1, 3, 4, 4], [1, 3, 4, 4], [3, 1, 1], 3),
      gradient("of volumes", [1, 2, 3, 4, 3], [1, 2, 2, 3, 2], [2]),
      gradient("of nothing", [0, 2, 4, 4], [0, 3, 3, 3], [2]),
    ];
  }),
  ...(["f32", "f16", "bf16"] as const).map((dtype) => {
    const window = {
      kernelShape: [2, 1],
      strides: [1, 2],
      pads: [0, 0, 1, 0],
      dilations: [1, 1],
      ceilMode: true,
    };
    const shapes = [
      [1, 2, 3, 2],
      [1, 2, 3, 4],
      [1, 2, 3, 2],
    ];
    return corner(
      "MaxPoolGradient",
      `of ${dtype}`,
      window,
      shapes.map((shape) => ({ dtype, shape })),
    );
  }),
  ...DTYPES.flatMap((dtype) =>
    [false, true].map((reverse) =>
      corner("Scan", `of ${dtype}${reverse ? ", in reverse" : ""}`, delay(dtype, reverse), [
        { dtype, shape: [2] },
        { dtype, shape: [3, 2] },
      ]),
    ),
  ),
  corner("Barrier", "behind another value", {}, [f32(2), i32(3)]),
  ...(["f32", "f16", "u8", "bf16"] as const).map((dtype) =>
    corner("Range", `in ${dtype}`, { start: 0, limit: 7, delta: 2, dtype }, []),
  ),
  corner("Range", "by fractions", { start: 0, limit: 1, delta: 0.1, dtype: "f32" }, []),
  ...DTYPES.map((dtype) => corner("Constant", `of ${dtype}`, { value: zeros([2], dtype) }, [])),
  corner("Constant", "of a literal", { value: tensor(Float32Array.of(0.1), []), literal: 0.1 }, []),
];

const written = JSON.parse(
  readFileSync(new URL("../../graph/test/fixtures/op-cases.json", import.meta.url), "utf8"),
) as readonly OpCase[];

/** Whole numbers of a small range where the case gives no data, or data that the dtype cannot hold. */
function hostTensor({ dtype, shape, data }: CaseInput): HostTensor {
  const count = shape.reduce((product, size) => product * size, 1);
  const out = new hostArrayOf[dtype](count);
  for (let index = 0; index < count; index++) {
    const given = data?.[index] ?? (index % 5) - 2;
    const number = typeof given === "string" ? Number(given.replace("inf", "Infinity")) : given;
    if (out instanceof Float32Array) out[index] = number;
    else if (out instanceof BigInt64Array || out instanceof BigUint64Array) {
      out[index] =
        typeof given === "string" && /^-?\d+$/.test(given)
          ? BigInt(given)
          : BigInt(Math.trunc(Number.isFinite(number) ? number : 0));
    } else if (isFloat(dtype)) out[index] = encode(dtype, number);
    else out[index] = dtype === "bool" ? Number(number > 0) : Math.trunc(number);
  }
  return { dtype, shape, data: out } as HostTensor;
}

function graphOf({ op, attributes, inputs }: OpCase): Graph | undefined {
  const builder = new GraphBuilder();
  const operands = inputs.map((type, index) => builder.input(`x${index}`, type, "batch"));
  try {
    const outputs = builder.emit(op, operands, attributes);
    return builder.finish(Object.fromEntries(outputs.map((value, index) => [`y${index}`, value])));
  } catch (error) {
    if (MpError.is(error)) return undefined;
    throw error;
  }
}

function inDType({ inputs, op, attributes, name }: OpCase, dtype: DType): OpCase {
  const decides = decidingDType({ op, inputs, outputs: inferTypes(op, inputs, attributes) });
  const changed = inputs.map((input) => (input.dtype === decides ? { ...input, dtype } : input));
  return { op, attributes, name, inputs: changed };
}

function* variants(): Generator<OpCase> {
  for (const entry of written) {
    yield entry;
    if (entry.inputs.length === 0) continue;
    for (const dtype of opDTypes[entry.op]) {
      // No bool is 7, which these cases pad with.
      if (entry.op !== "Pad" || dtype !== "bool") yield inDType(entry, dtype);
    }
  }
  yield* corners;
}

/** Every one that type inference takes. */
export function opGraphs(): readonly OpGraph[] {
  const found = new Map<string, OpGraph>();
  for (const entry of variants()) {
    const graph = graphOf(entry);
    if (graph === undefined) continue;
    const [node] = graph.nodes;
    if (node === undefined) throw new Error("a graph of one node");
    const name = `${entry.name} of ${entry.inputs.map(({ dtype }) => dtype).join(", ")}`;
    const inputs = Object.fromEntries(entry.inputs.map((input, index) => [`x${index}`, hostTensor(input)]));
    found.set(name, { name, op: entry.op, dtype: decidingDType(node), graph, inputs });
  }
  return [...found.values()];
}
