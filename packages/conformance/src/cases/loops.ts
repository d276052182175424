/** Loops whose bodies compute. The whole numbers are so small that every order of summation gives the same bits. */
import {
  type DType,
  type Graph,
  GraphBuilder,
  type HostTensor,
  type Shape,
  type Tensor,
  tensor,
  type Value,
  type ValueType,
} from "@mp/graph";
import {
  add,
  cast,
  clip,
  constant,
  gather,
  matMul,
  mul,
  reduceSum,
  relu,
  reshape,
  scan,
  sub,
  where,
} from "@mp/graph/ops";
import { EXACT } from "../compare/allowance.js";
import type { ConformanceCase } from "../conformance-case.js";
import { generate } from "../host-data.js";
import { traceGraph } from "../traced-graph.js";
import { graphCase } from "./kinds/graph-case.js";

const HALVES_AND_F32 = ["f32", "f16", "bf16"] as const;

const typed = (dtype: DType, ...shape: number[]): ValueType => ({ dtype, shape });

/** Whole numbers -2 … 2, or 0 … 4 in unsigned dtypes, without a short period. */
function whole({ dtype, shape }: ValueType, turn = 0): HostTensor {
  const isUnsigned = dtype === "u64" || dtype === "u8";
  return generate(dtype, shape, (place) => {
    const x = (Math.imul(place + 31 * turn, 2_654_435_761) >>> 7) % 5;
    return dtype === "bool" ? x % 2 : isUnsigned ? x : x - 2;
  });
}

type Inputs = Readonly<Record<string, ValueType>>;
type Named<T> = Readonly<Record<keyof T, Tensor>>;

/** A case of a traced function on whole numbers. Each run gets new arrays, which an engine may overwrite. */
function loopCase<I extends Inputs>(
  id: string,
  types: I,
  body: (inputs: Named<I>) => Record<string, Tensor>,
  given: () => Partial<Record<keyof I, HostTensor>> = () => ({}),
): ConformanceCase {
  return graphCase(id, () => ({
    graph: traceGraph(types, (inputs) => body(inputs as Named<I>)),
    inputs: {
      ...Object.fromEntries(Object.entries(types).map(([name, type], index) => [name, whole(type, index)])),
      ...(given() as Readonly<Record<string, HostTensor>>),
    },
    allowance: () => EXACT,
  }));
}

/** Keeps a recurrence within -2 … 2. */
const bounded = (x: Tensor): Tensor => clip(x, { min: -2, max: 2 });

function recurrence(dtype: DType, reverse: boolean): ConformanceCase {
  return loopCase(
    `loop/recurrence-${dtype}/${reverse ? "backwards" : "forwards"}`,
    { h: typed(dtype, 3, 4), x: typed(dtype, 7, 3, 4), w: typed(dtype, 4, 4), bias: typed(dtype, 4) },
    ({ h, x, w, bias }) => {
      const [last, all] = scan(
        (state: Tensor, element: Tensor) => {
          const next = bounded(add(add(matMul(state, w), element), bias));
          return [next, { before: state, sum: reduceSum(next, { axes: [1] }) }];
        },
        h,
        x,
        { reverse },
      );
      return { last, before: all.before, sum: all.sum, weights: mul(w, 2) };
    },
  );
}

/** Two loops, the second in reverse over the results of the first, like a recurrence and its gradient. */
const thereAndBack = (dtype: DType): ConformanceCase =>
  loopCase(
    `loop/there-and-back-${dtype}/shares-what-both-read`,
    { h: typed(dtype, 4), x: typed(dtype, 5, 4), w: typed(dtype, 4, 4) },
    ({ h, x, w }) => {
      const step = (state: Tensor, element: Tensor) =>
        [bounded(add(matMul(state, w), element)), state] as const;
      const [last, before] = scan(step, h, x);
      const [first, after] = scan(
        (state: Tensor, [element, kept]: readonly [Tensor, Tensor]) => {
          const next = bounded(sub(add(matMul(w, state), element), kept));
          return [next, add(state, kept)] as const;
        },
        last,
        [x, before] as const,
        { reverse: true },
      );
      return { first, after, last };
    },
  );

const FAR = 2000;

/** A loop of 2 000 steps, whose sums are whole numbers that every dtype holds exactly. */
const counting = (dtype: DType): ConformanceCase =>
  loopCase(
    `loop/long-${dtype}/sums-2000-steps`,
    { start: typed(dtype, 3), x: typed(dtype, FAR, 3) },
    ({ start, x }) => {
      const [last, sums] = scan(
        (sum: Tensor, element: Tensor) => {
          const next = add(sum, element);
          return [next, sum];
        },
        start,
        x,
      );
      return { last, sums };
    },
  );

/** Carries, sequences and results of six dtypes. */
const mixed = (reverse: boolean): ConformanceCase =>
  loopCase(
    `loop/mixed/six-dtypes-${reverse ? "backwards" : "forwards"}`,
    {
      f32: typed("f32", 2),
      f16: typed("f16", 2),
      bf16: typed("bf16", 3),
      i32: typed("i32"),
      u64: typed("u64", 2),
      bool: typed("bool", 2),
      xf32: typed("f32", 4, 2),
      xf16: typed("f16", 4, 2),
      xbf16: typed("bf16", 4, 3),
      xi32: typed("i32", 4),
      xu64: typed("u64", 4, 2),
      xbool: typed("bool", 4, 2),
    },
    (t) => {
      const [last, all] = scan(
        (carry: Record<string, Tensor>, x: Record<string, Tensor>) => {
          const get = (tree: Record<string, Tensor>, name: string) => tree[name] as Tensor;
          const chosen = where(get(x, "bool"), get(carry, "f32"), cast(get(carry, "f16"), "f32"));
          const next = {
            f32: add(chosen, get(x, "f32")),
            f16: add(get(carry, "f16"), get(x, "f16")),
            bf16: sub(get(x, "bf16"), get(carry, "bf16")),
            i32: add(get(carry, "i32"), get(x, "i32")),
            u64: add(get(carry, "u64"), get(x, "u64")),
            bool: get(x, "bool"),
          };
          return [next, { ...next, before: get(carry, "bool") }];
        },
        { f32: t.f32, f16: t.f16, bf16: t.bf16, i32: t.i32, u64: t.u64, bool: t.bool } as Record<
          string,
          Tensor
        >,
        { f32: t.xf32, f16: t.xf16, bf16: t.xbf16, i32: t.xi32, u64: t.xu64, bool: t.xbool } as Record<
          string,
          Tensor
        >,
        { reverse },
      );
      const flat = (tree: Record<string, Tensor>, prefix: string) =>
        Object.fromEntries(Object.entries(tree).map(([name, value]) => [`${prefix} ${name}`, value]));
      return { ...flat(last, "last"), ...flat(all, "all") };
    },
  );

const nested = (dtype: DType): ConformanceCase =>
  loopCase(
    `loop/nested-${dtype}/reads-from-around-both`,
    { h: typed(dtype, 4), x: typed(dtype, 3, 4), w: typed(dtype, 4, 4), rows: typed(dtype, 5, 4) },
    ({ h, x, w, rows }) => {
      const [last, all] = scan(
        (state: Tensor, element: Tensor) => {
          const [inner, sums] = scan(
            (at: Tensor, row: Tensor) => {
              const next = bounded(add(matMul(at, w), mul(row, element)));
              return [next, add(next, state)];
            },
            state,
            rows,
            { reverse: true },
          );
          return [inner, sums];
        },
        h,
        x,
      );
      return { last, all };
    },
  );

/** More than 4 KiB, since engines may bind constants of that size like inputs. */
const TABLE: Shape = [1_200, 2];

const withConstants: ConformanceCase = loopCase(
  "loop/constants/of-every-size",
  { start: typed("f32", 2), places: typed("i32", 5) },
  ({ start, places }) => {
    const table = generate("f32", TABLE, (place) => (place % 7) - 3);
    const [last, rows] = scan(
      (sum: Tensor, place: Tensor) => {
        const row = reshape(gather(constant(table), reshape(place, [1])), [2]);
        const small = constant(tensor(Float32Array.of(1, -1)));
        return [add(add(sum, row), small), mul(add(row, 3), -2)];
      },
      start,
      places,
    );
    return { last, rows };
  },
  () => ({ places: tensor(Int32Array.of(0, 1_199, 700, 3, 512)) }),
);

/** Shape of more than 64 KiB. Engines may fix the order in which they compute values of that size. */
const LARGE = [160, 130];

const large: ConformanceCase = loopCase(
  "loop/large/values-in-nested-bodies",
  { h: typed("f32", ...LARGE), x: typed("f32", 3, ...LARGE), w: typed("f32", 130, 130) },
  ({ h, x, w }) => {
    const mixed = (a: Tensor, b: Tensor): Tensor => {
      const [sums, differences] = [bounded(add(a, b)), bounded(sub(a, b))];
      const products = bounded(mul(sums, differences));
      return bounded(add(relu(products), bounded(matMul(sub(b, products), w))));
    };
    const before = mixed(h, relu(h));
    const [last, all] = scan(
      (state: Tensor, element: Tensor) => {
        const next = mixed(state, element);
        const [inner, sums] = scan(
          (at: Tensor, again: Tensor) => [mixed(at, again), add(at, next)],
          mixed(next, state),
          x,
        );
        const [first] = scan((at: Tensor) => [mixed(at, next), []], inner, [], { length: 2 });
        return [mixed(first, inner), reduceSum(sums, { axes: [0, 1] })];
      },
      before,
      x,
    );
    return { last, all, after: mixed(last, before) };
  },
);

/** A loop that draws new random bits in each step, with an order that a barrier fixes. */
function drawing(): Graph {
  const inner = new GraphBuilder();
  const counter = inner.input("counter", typed("i32"), "capture");
  const x = inner.input("x", typed("f32", 3), "capture");
  const bits = inner.emitOne("RandomBits", [counter], { key: 0x9c3e5a1fb7d24681n, shape: [3] });
  const next = inner.emitOne("Add", [counter, inner.literal(1, "i32")], {});
  const held = inner.emitOne("Barrier", [x, bits], {});
  const body = inner.finish(
    new Map([
      ["0", next],
      ["1", bits],
      ["2", inner.emitOne("Mul", [held, held], {})],
    ]),
  );
  const builder = new GraphBuilder();
  const start = builder.input("counter", typed("i32"), "batch");
  const sequence = builder.input("x", typed("f32", 4, 3), "batch");
  const attributes = { body, carries: 1, sequences: 1, length: 4, reverse: false, saved: 0 };
  const [last, all, squares] = builder.emit("Scan", [start, sequence], attributes) as readonly Value[];
  return builder.finish({ last: last as Value, bits: all as Value, squares: squares as Value });
}

const randomness: ConformanceCase = graphCase("loop/random/draws-in-each-step", () => ({
  graph: drawing(),
  inputs: {
    counter: tensor(Int32Array.of(-2), []),
    x: whole(typed("f32", 4, 3)),
  },
  allowance: () => EXACT,
}));

export const loopCases: readonly ConformanceCase[] = [
  ...HALVES_AND_F32.flatMap((dtype) => [recurrence(dtype, false), recurrence(dtype, true)]),
  ...HALVES_AND_F32.map(thereAndBack),
  ...(["f32", "i32", "u64"] as const).map(counting),
  mixed(false),
  mixed(true),
  ...HALVES_AND_F32.map(nested),
  withConstants,
  large,
  randomness,
];
