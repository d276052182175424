import {
  type Backend,
  type Graph,
  type HostTensor,
  prepareGraph,
  type Tensor,
  tensor,
  traceInto,
} from "@mp/graph";
import { add, constant, gather, matMul, mul, reshape, scan, tanh } from "@mp/graph/ops";
import { evaluate } from "@mp/graph/reference";
import { lowerGraph } from "@mp/onnx-lowering";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ort } from "../src/index.js";

let backend: Backend;
beforeEach(async () => {
  backend = await ort();
});
afterEach(() => backend.dispose());

const declare = (name: string, dtype: "f32" | "i32" | "bf16", ...shape: number[]) => ({
  name,
  role: "batch" as const,
  type: { dtype, shape },
});

const numbers = (...shape: number[]): HostTensor => {
  const count = shape.reduce((product, size) => product * size, 1);
  return tensor(
    Float32Array.from({ length: count }, (_, place) => Math.sin(place) / 8),
    shape,
  );
};

const STEPS = 500;
const [BATCH, WIDTH] = [16, 64];

/** A recurrence whose states are all kept: 2 MB of them in f32. */
function recurrence(dtype: "f32" | "bf16"): Graph {
  const { graph } = traceInto(
    [
      declare("h", dtype, BATCH, WIDTH),
      declare("x", dtype, STEPS, BATCH, WIDTH),
      declare("w", dtype, WIDTH, WIDTH),
    ],
    ([h, x, w]) => {
      const [last, all] = scan(
        (state: Tensor, element: Tensor) => {
          const next = tanh(add(matMul(state, w as Tensor), element));
          return [next, next];
        },
        h as Tensor,
        x as Tensor,
      );
      return { last, all };
    },
  );
  return prepareGraph(graph);
}

const stackBytes = (elementBytes: number): number => STEPS * BATCH * WIDTH * elementBytes;

describe("a loop", () => {
  it.each([
    ["f32", 4],
    ["bf16", 2],
  ] as const)("of %s holds what it stacks once, and in its dtype", async (dtype, elementBytes) => {
    const executable = await backend.compile(recurrence(dtype));
    const zeros = (...shape: number[]): HostTensor => {
      const { data } = numbers(...shape);
      return dtype === "f32" ? numbers(...shape) : tensor(new Uint16Array(data.length), shape, dtype);
    };
    await executable.run({
      h: zeros(BATCH, WIDTH),
      x: zeros(STEPS, BATCH, WIDTH),
      w: zeros(WIDTH, WIDTH),
    });
    const { peakBytes } = (await executable.memory?.()) ?? { peakBytes: Number.POSITIVE_INFINITY };
    // The sequence and the stack; a hundredth for everything else.
    expect(peakBytes).toBeLessThan(2.1 * stackBytes(elementBytes));
    await executable.dispose();
  });

  it("is one row of a profile, named after its node", async () => {
    const executable = await backend.compile(recurrence("f32"));
    const inputs = {
      h: numbers(BATCH, WIDTH),
      x: numbers(STEPS, BATCH, WIDTH),
      w: numbers(WIDTH, WIDTH),
    };
    const profile = await executable.profile?.(inputs);
    const rows = profile ?? [];
    expect(rows.filter(({ op }) => op === "MatMul" || op === "Tanh")).toEqual([]);
    expect(rows.find(({ op }) => op === "Scan")).toMatchObject({ node: "Scan", calls: 1 });
    await executable.dispose();
  });

  it("has its large constants bound from outside, and computes with them", async () => {
    const table = numbers(2000, 2);
    const { graph } = traceInto([declare("start", "f32", 2), declare("at", "i32", 3)], ([start, at]) => {
      const [last, rows] = scan(
        (sum: Tensor, place: Tensor) => {
          const row = reshape(gather(constant(table), reshape(place, [1])), [2]);
          return [add(sum, row), mul(row, 2)];
        },
        start as Tensor,
        at as Tensor,
      );
      return { last, rows };
    });
    const target = {
      device: "cpu",
      emulated: [],
      widened: new Set<string>(),
      blockSize: undefined,
      castsThroughDoubles: false,
    } as const;
    expect(lowerGraph(graph, target).constants.map(({ value }) => value)).toEqual([table]);
    const inputs = { start: numbers(2), at: tensor(Int32Array.of(0, 1999, 7)) };
    const executable = await backend.compile(graph);
    expect(await executable.run(inputs)).toEqual(evaluate(graph, inputs));
    await executable.dispose();
  });
});
