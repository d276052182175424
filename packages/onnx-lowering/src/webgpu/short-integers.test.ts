import { type Graph, GraphBuilder, type HostTensor, tensor, traceInto } from "@mp/graph";
import { add, cast, gather, mul, range, scan, where } from "@mp/graph/ops";
import { evaluate } from "@mp/graph/reference";
import { expect, it } from "vitest";
import { lengthen, shorten, shortIntegers, shortType } from "./short-integers.js";

type Feeds = Readonly<Record<string, HostTensor>>;

const integers = (...numbers: readonly bigint[]): HostTensor<"i64"> => tensor(BigInt64Array.from(numbers));

/** Checks that the rewritten graph has no i64 and gives the same results. */
function expectSame(graph: Graph, feeds: Feeds): void {
  const short = shortIntegers(graph);
  const values = [
    ...short.inputs.map(({ value }) => value),
    ...short.nodes.flatMap(({ outputs }) => outputs),
  ];
  expect(values.filter(({ dtype }) => dtype === "i64")).toEqual([]);
  expect(short.nodes.map(({ name }) => name)).toEqual(graph.nodes.map(({ name }) => name));
  const given = Object.entries(feeds).map(([name, value]) => [name, shorten(value)]);
  const results = evaluate(short, Object.fromEntries(given));
  const got = graph.outputs.map(({ name, value }) => [name, lengthen(results[name] as HostTensor, value)]);
  expect(Object.fromEntries(got)).toEqual(evaluate(graph, feeds));
}

it("computes in i32: constants, ranges, casts and indices", () => {
  const { graph } = traceInto(
    [
      { name: "x", role: "batch", type: { dtype: "f32", shape: [4] } },
      { name: "at", role: "batch", type: { dtype: "i64", shape: [3] } },
      { name: "by", role: "batch", type: { dtype: "i32", shape: [] } },
    ],
    ([x, at, by]) => {
      if (x === undefined || at === undefined || by === undefined) throw new Error("three inputs");
      const places = where(cast(at, "bool"), add(range(0, 3, { dtype: "i64" }), cast(by, "i64")), 0);
      return {
        rows: gather(x, cast(places, "i32")),
        places,
        product: mul(cast(places, "f32"), 2),
        whole: cast(x, "i64"),
      };
    },
  );
  expectSame(graph, {
    x: tensor(Float32Array.of(1.5, -2, 3, 4)),
    at: integers(0n, 1n, 5n),
    by: tensor(Int32Array.of(1), []),
  });
});

it("rewrites loops with their bodies", () => {
  const { graph } = traceInto(
    [
      { name: "total", role: "batch", type: { dtype: "i64", shape: [2] } },
      { name: "x", role: "batch", type: { dtype: "i64", shape: [4, 2] } },
    ],
    ([total, x]) => {
      if (total === undefined || x === undefined) throw new Error("two inputs");
      const [last, all] = scan(
        (sum, element) => {
          const next = add(sum, mul(element, 3));
          return [next, next];
        },
        total,
        x,
      );
      return { last, all };
    },
  );
  expectSame(graph, {
    total: integers(7n, -5n),
    x: { ...integers(1n, 2n, 3n, -4n, 5n, 6n, 7n, 8n), shape: [4, 2] },
  });
});

it("leaves a graph without i64 as it is", () => {
  const builder = new GraphBuilder();
  const x = builder.input("x", { dtype: "i32", shape: [] }, "batch");
  const graph = builder.finish({ y: builder.emitOne("Cast", [x], { to: "f32" }) });
  expect(shortIntegers(graph)).toBe(graph);
});

it("refuses what i32 does not hold, by its place", () => {
  expect(shorten(integers(2n ** 31n - 1n, -(2n ** 31n))).data).toEqual(
    Int32Array.of(2 ** 31 - 1, -(2 ** 31)),
  );
  for (const beyond of [2n ** 31n, -(2n ** 31n) - 1n, 2n ** 32n, 2n ** 53n + 1n, -(2n ** 63n)])
    expect(() => shorten(integers(0n, beyond))).toThrow(
      expect.objectContaining({
        code: "MP_OUT_OF_RANGE",
        message: expect.stringContaining(`got ${beyond} at element 1`) as string,
      }),
    );
  expect(shortType({ dtype: "f32", shape: [2] })).toEqual({ dtype: "f32", shape: [2] });
});
