import { type DType, type HostTensor, key, MpError, tensor } from "@mp/core";
import {
  type Graph,
  GraphBuilder,
  type Op,
  type OpAttributes,
  traceInto,
  type Value,
  validateGraph,
} from "@mp/core/graph";
import { setRandomCounter } from "@mp/core/internal";
import { add, cast, mul, randomUniform, scan } from "@mp/core/ops";
import { evaluate } from "@mp/core/reference";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { splitWords } from "./split-words.js";

type Wide = "i64" | "u64";
const WIDE: readonly Wide[] = ["i64", "u64"];

function integers(
  dtype: Wide,
  values: readonly bigint[],
  shape: readonly number[] = [values.length],
): HostTensor {
  return dtype === "i64"
    ? tensor(BigInt64Array.from(values), shape, dtype)
    : tensor(BigUint64Array.from(values), shape, dtype);
}

const isWide = ({ dtype }: { readonly dtype: DType }): boolean => dtype === "i64" || dtype === "u64";

/** The same bytes, as the rewritten graph takes them. */
function relabeled(given: HostTensor): HostTensor {
  if (!isWide(given)) return given;
  const { buffer, byteOffset, length } = given.data as BigInt64Array<ArrayBuffer>;
  return tensor(new Int32Array(buffer, byteOffset, 2 * length), [...given.shape, 2]);
}

/** Nothing of 64 bits is left but what gives a counter, draws, divides and reads random bits. */
const LEFT: ReadonlySet<Op> = new Set<Op>(["Constant", "Cast", "Mul", "ReduceSum", "RandomBits", "Div"]);

function expectNarrow(graph: Graph): void {
  const draws = graph.nodes.some(({ op }) => op === "RandomBits");
  for (const { op, outputs } of graph.nodes) {
    if (outputs.some(isWide)) expect(draws && LEFT.has(op), op).toBe(true);
  }
}

/** Both graphs of these inputs give the same bytes. */
function expectSame(graph: Graph, inputs: Readonly<Record<string, HostTensor>>): Graph {
  const split = splitWords(graph);
  validateGraph(split);
  expectNarrow(split);
  const wanted = evaluate(graph, inputs);
  const got = evaluate(
    split,
    Object.fromEntries(Object.entries(inputs).map(([name, value]) => [name, relabeled(value)])),
  );
  expect(got).toEqual(
    Object.fromEntries(Object.entries(wanted).map(([name, value]) => [name, relabeled(value)])),
  );
  return split;
}

/** One node of these operands, first as inputs and then as constants. */
function expectSameNode<K extends Op>(
  op: K,
  attributes: OpAttributes[K],
  operands: readonly HostTensor[],
): void {
  const named = Object.fromEntries(operands.map((value, index) => [`x${index}`, value]));
  for (const isConstant of [false, true]) {
    const builder = new GraphBuilder();
    const values = Object.entries(named).map(([name, value], index) =>
      isConstant && index > 0 ? builder.constant(value) : builder.input(name, value, "batch"),
    );
    const results = builder.emit(op, values, attributes);
    const graph = builder.finish(new Map(results.map((value, index) => [`y${index}`, value])));
    expectSame(graph, Object.fromEntries(graph.inputs.map(({ name }) => [name, named[name] as HostTensor])));
  }
}

const POWERS = [8n, 15n, 16n, 24n, 31n, 32n, 33n, 47n, 48n, 53n, 63n];
const NEAR = POWERS.flatMap((power) => [2n ** power - 1n, 2n ** power, 2n ** power + 1n]);
/** Edges of both dtypes, by their bits. */
const EDGES: readonly bigint[] = [...new Set([0n, 1n, 2n, 5n, ...NEAR].flatMap((x) => [x, -x]))].map((x) =>
  BigInt.asIntN(64, x),
);
const asOf = (dtype: Wide, x: bigint): bigint =>
  dtype === "i64" ? BigInt.asIntN(64, x) : BigInt.asUintN(64, x);

const CROSSED = EDGES.flatMap((a) => EDGES.map((b) => [a, b] as const));

/** Draws integers of any number of bits, so that small ones are as likely as large ones. */
const drawn = fc
  .tuple(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), fc.integer({ min: 0, max: 63 }), fc.boolean())
  .map(([x, shift, minus]) => (minus ? -(x >> BigInt(shift)) : x >> BigInt(shift)));

type Binary =
  | "Add" | "Sub" | "Mul" | "Div" | "Min" | "Max"
  | "Equal" | "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual"; // biome-ignore format: one list
const BINARY: readonly Binary[] = [
  "Add", "Sub", "Mul", "Div", "Min", "Max", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual",
]; // biome-ignore format: one list

/** Pairs for which the op has a result. */
const taken = (
  op: Op,
  pairs: readonly (readonly [bigint, bigint])[],
): readonly (readonly [bigint, bigint])[] =>
  op === "Div" || op === "Mod" ? pairs.filter(([, b]) => b !== 0n) : pairs;

function operandsOf(dtype: Wide, pairs: readonly (readonly [bigint, bigint])[]): readonly HostTensor[] {
  return [0, 1].map((place) =>
    integers(
      dtype,
      pairs.map((pair) => asOf(dtype, pair[place] ?? 0n)),
    ),
  );
}

describe.each(WIDE)("%s in words", (dtype) => {
  it.each(BINARY)("%s of edges and of random integers", (op) => {
    expectSameNode(op, {}, operandsOf(dtype, taken(op, CROSSED)));
    fc.assert(
      fc.property(fc.array(fc.tuple(drawn, drawn), { minLength: 1, maxLength: 40 }), (pairs) => {
        const some = taken(
          op,
          pairs.map(([a, b]) => [asOf(dtype, a), asOf(dtype, b)] as const),
        );
        if (some.length > 0) expectSameNode(op, {}, operandsOf(dtype, some));
      }),
      { numRuns: 20 },
    );
  });

  it.each(BINARY)("%s that broadcasts, also with a constant scalar", (op) => {
    const column = integers(
      dtype,
      [7n, 2n ** 40n, 2n ** 63n - 1n].map((x) => asOf(dtype, x)),
      [3, 1],
    );
    const row = integers(dtype, [3n, 2n ** 33n + 1n], [2]);
    expectSameNode(op, {}, [column, row]);
    for (const scalar of [1n, 256n, 2n ** 32n, 2n ** 40n, 2n ** 63n - 1n]) {
      expectSameNode(op, {}, [column, integers(dtype, [scalar], [])]);
    }
  });

  it("casts to floats, rounding once", () => {
    const ties = [8n, 11n, 24n].flatMap((bits) =>
      Array.from({ length: 64 - Number(bits) - 1 }, (_, place) => {
        const shift = BigInt(place + 1);
        const tie = ((2n ** (bits - 1n)) << shift) + (1n << (shift - 1n));
        return [tie - 1n, tie, tie + 1n, tie + (1n << shift)];
      }).flat(),
    );
    const values = [...EDGES, ...ties, ...ties.map((x) => -x)].map((x) => asOf(dtype, x));
    for (const to of ["f32", "f16", "bf16", "i32", "u8", "bool"] as const) {
      expectSameNode("Cast", { to }, [integers(dtype, values)]);
    }
    fc.assert(
      fc.property(fc.array(drawn, { minLength: 1, maxLength: 60 }), (numbers) => {
        const given = integers(
          dtype,
          numbers.map((x) => asOf(dtype, x)),
        );
        for (const to of ["f32", "f16", "bf16"] as const) expectSameNode("Cast", { to }, [given]);
      }),
      { numRuns: 30 },
    );
  });

  it("casts from other dtypes", () => {
    const top = dtype === "i64" ? 2 ** 63 - 2 ** 39 : 2 ** 64 - 2 ** 40;
    const positive = [
      0,
      0.5,
      1.5,
      255.75,
      65535,
      65536,
      2 ** 24 + 2,
      2 ** 31,
      2 ** 32 - 256,
      2 ** 32,
      2 ** 40 + 2 ** 17,
      top,
    ];
    const numbers = dtype === "i64" ? [...positive, ...positive.map((x) => -x)] : positive;
    expectSameNode("Cast", { to: dtype }, [tensor(Float32Array.from(numbers))]);
    const small = Int32Array.of(0, 1, 255, 65536, 2 ** 31 - 1, -1, -2, -(2 ** 31));
    expectSameNode("Cast", { to: dtype }, [tensor(small)]);
    expectSameNode("Cast", { to: dtype }, [tensor(Uint8Array.of(0, 1, 128, 255), [4], "u8")]);
    expectSameNode("Cast", { to: dtype }, [tensor(Uint8Array.of(0, 1), [2], "bool")]);
    expectSameNode("Cast", { to: dtype === "i64" ? "u64" : "i64" }, [
      integers(
        dtype,
        EDGES.map((x) => asOf(dtype, x)),
      ),
    ]);
  });

  it("chooses, clips and reduces", () => {
    const values = EDGES.map((x) => asOf(dtype, x));
    const x = integers(dtype, values);
    const y = integers(dtype, values.toReversed());
    const condition = tensor(
      Uint8Array.from(values, (_, at) => (at % 3) & 1),
      [values.length],
      "bool",
    );
    expectSameNode("Where", {}, [condition, x, y]);
    expectSameNode("Where", {}, [tensor(Uint8Array.of(1), [], "bool"), x, integers(dtype, [2n ** 40n], [])]);
    for (const limits of [{ max: 3 }, { min: 5 }, { min: 2, max: 2 ** 40 }])
      expectSameNode("Clip", limits, [x]);
    const cube = integers(dtype, values.slice(0, 60), [3, 4, 5]);
    for (const op of ["ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin"] as const) {
      for (const axes of [[0], [1], [2], [0, 2], [0, 1, 2], []]) {
        for (const keepdims of [false, true]) expectSameNode(op, { axes, keepdims }, [cube]);
      }
    }
    for (const op of ["ReduceSum", "ReduceProd"] as const) {
      expectSameNode(op, { axes: [0], keepdims: false }, [integers(dtype, [], [0, 2])]);
    }
  });

  it("moves", () => {
    const x = integers(
      dtype,
      EDGES.slice(0, 24).map((number) => asOf(dtype, number)),
      [2, 3, 4],
    );
    expectSameNode("Identity", {}, [x]);
    expectSameNode("Reshape", { shape: [6, 4] }, [x]);
    expectSameNode("Transpose", { perm: [2, 0, 1] }, [x]);
    expectSameNode("Slice", { starts: [3], ends: [0], axes: [2], steps: [-2] }, [x]);
    expectSameNode("Concat", { axis: 1 }, [x, x]);
    expectSameNode("Split", { axis: 2, split: [1, 3] }, [x]);
    expectSameNode("Expand", { shape: [2, 2, 3, 4] }, [x]);
    expectSameNode("Unsqueeze", { axes: [0, 4] }, [x]);
    expectSameNode("Squeeze", { axes: [0] }, [integers(dtype, [2n ** 40n], [1])]);
    expectSameNode("Pad", { pads: [0, 1, 0, 1, 0, 2], mode: "constant", value: 2 ** 40 + 1 }, [x]);
    expectSameNode("Tile", { repeats: [1, 2, 1] }, [x]);
    const index = tensor(Int32Array.of(1, -1, 0, 2), [2, 2]);
    expectSameNode("Gather", { axis: 2 }, [x, index]);
    expectSameNode("GatherND", { batchDims: 0 }, [x, tensor(Int32Array.of(1, 2, 0, 1), [2, 2])]);
    expectSameNode("GatherElements", { axis: 0 }, [x, tensor(Int32Array.of(1, 0, 1, 1), [1, 1, 4])]);
    expectSameNode("Barrier", {}, [x, tensor(Float32Array.of(1)), integers(dtype, [3n])]);
    expectSameNode("Barrier", {}, [tensor(Float32Array.of(1)), x]);
    expectSameNode("Range", { start: 2, limit: 9, delta: 3, dtype }, []);
    expectSameNode("Constant", { value: x }, []);
  });

  it("refuses what is not computed in words", () => {
    const builder = new GraphBuilder();
    const x = builder.input("x", { dtype, shape: [4] }, "batch");
    const graph = builder.finish({ y: builder.emitOne("ArgMax", [x], { axis: 0, keepdims: false }) });
    const act = (): unknown => splitWords(graph);
    expect(act).toThrow("ArgMax of 64-bit integers: this device has 32-bit integers only, cast them to i32");
    expect(act).toThrow(MpError);
  });
});

it("takes remainders of i64", () => {
  expectSameNode("Mod", { fmod: false }, operandsOf("i64", taken("Mod", CROSSED)));
});

it.each(["Abs", "Neg", "Sign"] as const)("takes %s of i64", (op) => {
  expectSameNode(op, {}, [integers("i64", EDGES)]);
});

it("leaves a graph of other dtypes alone, and says which node each node is a part of", () => {
  const builder = new GraphBuilder();
  const x = builder.input("x", { dtype: "i32", shape: [] }, "batch");
  const narrow = builder.finish({ y: builder.emitOne("Neg", [x], {}) });
  expect(splitWords(narrow)).toBe(narrow);

  const wide = new GraphBuilder();
  const sum = wide.emitOne("Cast", [wide.input("x", { dtype: "i32", shape: [] }, "batch")], { to: "i64" });
  const graph = wide.finish({ y: wide.emitOne("Add", [sum, sum], {}) });
  const sources = new Map<string, string>();
  const { nodes } = splitWords(graph, (made, { name }) => sources.set(made, name));
  expect(new Set(nodes.map(({ name }) => sources.get(name) ?? "output"))).toEqual(
    new Set(["Cast", "Add", "output"]),
  );
});

/** Draws of a counter that is an input. */
function drawing(keys: readonly bigint[], length: number): Graph {
  const builder = new GraphBuilder();
  const counter = builder.input("counter", { dtype: "u64", shape: [] }, "batch");
  return builder.finish(
    new Map(
      keys.map((drawKey, index): readonly [string, Value] => [
        `bits${index}`,
        builder.emitOne("RandomBits", [counter], { key: drawKey, shape: [length] }),
      ]),
    ),
  );
}

it("draws the same random bits", () => {
  const odd = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }).map((x) => 2n * x + 1n);
  fc.assert(
    fc.property(odd, fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (drawKey, counter) => {
      expectSame(drawing([drawKey, 1n, 2n ** 64n - 1n], 5), { counter: integers("u64", [counter], []) });
    }),
    { numRuns: 50 },
  );
  for (const counter of EDGES) {
    expectSame(drawing([0xd1342543de82ef95n], 3), { counter: integers("u64", [asOf("u64", counter)], []) });
  }
});

it("draws uniform numbers of a training step's counter, which stay short", () => {
  const { graph } = traceInto(
    [
      { name: "drawn", role: "state", type: { dtype: "i64", shape: [] } },
      { name: "micro", role: "batch", type: { dtype: "i32", shape: [] } },
    ],
    ([state, micro]) => {
      if (state === undefined || micro === undefined) throw new Error("two inputs");
      setRandomCounter(mul(cast(add(state, cast(micro, "i64")), "u64"), 2 ** 32));
      return { a: randomUniform(key(7), [3, 4]), b: randomUniform(key(8), [5]), next: add(state, 1) };
    },
  );
  const split = expectSame(graph, {
    drawn: integers("i64", [2n ** 31n - 1n], []),
    micro: tensor(Int32Array.of(3), []),
  });
  const perElement = split.nodes.filter(({ outputs }) => outputs[0]?.shape.join() === "3,4");
  expect(perElement.map(({ op }) => op)).toEqual(["RandomBits", "Div", "Cast", "Mul"]);
});

it("rewrites loops with their bodies", () => {
  const { graph } = traceInto(
    [
      { name: "total", role: "batch", type: { dtype: "i64", shape: [2] } },
      { name: "x", role: "batch", type: { dtype: "i64", shape: [4, 2] } },
      { name: "by", role: "batch", type: { dtype: "u64", shape: [] } },
    ],
    ([total, x, by]) => {
      if (total === undefined || x === undefined || by === undefined) throw new Error("three inputs");
      const [last, all] = scan(
        (sum, element) => {
          const next = add(sum, mul(element, cast(by, "i64")));
          return [next, next];
        },
        total,
        x,
      );
      return { last, all, twice: add(last, last) };
    },
  );
  expectSame(graph, {
    total: integers("i64", [2n ** 62n, -5n]),
    x: integers("i64", EDGES.slice(0, 8), [4, 2]),
    by: integers("u64", [2n ** 33n + 7n], []),
  });
});
