import {
  type HostTensor,
  prepareGraph,
  printGraph,
  type Tensor,
  tensor,
  traceInto,
  valueAndGrad,
} from "@mp/graph";
import {
  add,
  concat,
  constant,
  gather,
  matMul,
  mul,
  reduceMean,
  scan,
  sigmoid,
  split,
  tanh,
  unsqueeze,
} from "@mp/graph/ops";
import { evaluate } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { autocast } from "./autocast.js";
import { type CastingPolicy, castingPolicy } from "./policy.js";

const STEPS = 5;
type Weights = { readonly input: Tensor; readonly hidden: Tensor; readonly bias: Tensor };
type Cell = (w: Weights, [h, c]: readonly [Tensor, Tensor], x: Tensor) => readonly [Tensor, Tensor];

/** An LSTM cell with two gates. The products of the inputs are computed for all steps at once, before the scan. */
const cell: Cell = (w, [h, c], x) => {
  const [gate, value] = split(add(add(x, matMul(h, w.hidden)), w.bias), [2, 2], 1) as [Tensor, Tensor];
  const next = add(mul(sigmoid(gate), c), tanh(value));
  return [tanh(next), next];
};

const scanned = (w: Weights, start: readonly [Tensor, Tensor], xs: Tensor): readonly [Tensor, Tensor] => {
  const [[, c], hs] = scan(
    (state: readonly [Tensor, Tensor], x: Tensor) => {
      const next = cell(w, state, x);
      return [next, next[0]];
    },
    start,
    xs,
  );
  return [hs, c];
};

const unrolled = (w: Weights, start: readonly [Tensor, Tensor], xs: Tensor): readonly [Tensor, Tensor] => {
  let state = start;
  const hs: Tensor[] = [];
  for (let step = 0; step < STEPS; step++) {
    const x = gather(xs, constant(tensor(Int32Array.of(step), [])), 0);
    state = cell(w, state, x);
    hs.push(unsqueeze(state[0], [0]));
  }
  return [concat(hs), state[1]];
};

const shapes = { input: [3, 4], hidden: [2, 4], bias: [4] } as const;
const wave = (shape: readonly number[], from: number): HostTensor => {
  const size = shape.reduce((a, b) => a * b, 1);
  return tensor(
    Float32Array.from({ length: size }, (_, index) => Math.sin(from + 1.7 * index)),
    shape,
  );
};

function program(recurrence: typeof scanned, policy: CastingPolicy, loops = true) {
  const f32 = (shape: readonly number[]) => ({ dtype: "f32" as const, shape });
  const traced = traceInto(
    [
      ...Object.entries(shapes).map(([name, shape]) => ({
        name,
        role: "parameter" as const,
        type: f32(shape),
      })),
      { name: "x", role: "batch" as const, type: f32([STEPS, 2, 3]) },
      { name: "h", role: "state" as const, type: f32([2, 2]) },
      { name: "c", role: "state" as const, type: f32([2, 2]) },
    ],
    (inputs) => {
      const [input, hidden, bias, x, h, c] = inputs as [Tensor, Tensor, Tensor, Tensor, Tensor, Tensor];
      const loss = autocast((w: Weights) => {
        const [hs, last] = recurrence(w, [h, c], matMul(x, w.input));
        return add(reduceMean(mul(hs, hs)), reduceMean(last));
      }, policy);
      const { value, gradients } = valueAndGrad(loss)({ input, hidden, bias });
      return { value, gradients };
    },
  );
  return loops ? prepareGraph(traced.graph) : traced.graph;
}

const given = {
  input: wave(shapes.input, 0),
  hidden: wave(shapes.hidden, 1),
  bias: wave(shapes.bias, 2),
  x: wave([STEPS, 2, 3], 3),
  h: wave([2, 2], 4),
  c: wave([2, 2], 5),
};

describe.each(["f16", "bf16"] as const)("a scan under a policy of %s", (compute) => {
  const policy = castingPolicy({ compute });

  it("computes what its unrolled steps compute, bit by bit", () => {
    const [loop, steps] = [scanned, unrolled].map((recurrence) =>
      evaluate(program(recurrence, policy), given),
    );
    expect(loop?.["value"]?.data).toEqual(steps?.["value"]?.data);
  });

  it("has the gradients of its unrolled steps, up to a rounding of the half", () => {
    const [loop, steps] = [scanned, unrolled].map((recurrence) =>
      evaluate(program(recurrence, policy), given),
    );
    for (const name of Object.keys(shapes)) {
      const [a, b] = [loop, steps].map((run) => [...(run?.[`gradients/${name}`]?.data ?? [])].map(Number));
      const scale = Math.max(...(b ?? []).map(Math.abs));
      const worst = Math.max(...(a ?? []).map((x, index) => Math.abs(x - (b?.[index] ?? 0))));
      expect(worst / scale).toBeLessThan(compute === "f16" ? 2e-3 : 2e-2);
    }
  });

  it("casts a weight once, outside, and carries in f32", () => {
    expect(printGraph(program(scanned, policy))).toMatchSnapshot();
  });
});
