// A parameter kept in a half dtype is never in f32 between the forward and the backward pass, also where it is
// emulated.

import { consumers, emulateHalves, type Graph, grad, isHalf, remat, type Tensor, traceInto } from "@mp/graph";
import { matMul, mul, reduceSum, tanh, transpose } from "@mp/graph/ops";
import { expect, it } from "vitest";
import { eliminateDeadCode } from "../../../graph/src/transform/dead-code.js";
import { autocast } from "../../src/cast/autocast.js";
import { float32Policy, mixedBfloat16Policy } from "../../src/cast/policy.js";

/** Nodes that read an f32 copy of a parameter in a half dtype which both passes share. */
function shared(graph: Graph): readonly string[] {
  const readers = consumers(graph);
  return graph.inputs
    .filter(({ value }) => isHalf(value.dtype))
    .flatMap(({ value }) => readers.get(value) ?? [])
    .filter(({ op }) => op === "Cast")
    .flatMap(({ name, outputs: [wide] }) => {
      const read = wide === undefined ? [] : (readers.get(wide) ?? []);
      const phases = new Set(read.map(({ origin }) => origin.phase));
      return phases.size > 1 ? [name] : [];
    });
}

const policies = { float32: float32Policy, bfloat16: mixedBfloat16Policy };
const wraps = { none: (block: (x: Tensor) => Tensor) => block, remat };
const cases = Object.keys(policies).flatMap((policy) =>
  Object.keys(wraps).flatMap((wrap) => [2, 3].map((layers) => [policy, wrap, layers] as const)),
);

it.each(cases)("under %s, %s, %i layers", (policy, wrap, layers) => {
  const parameters = Array.from({ length: layers }, (_, at) => ({
    name: `w${at}`,
    role: "parameter" as const,
    type: { dtype: "bf16" as const, shape: [4, 4] },
  }));
  const x = { name: "x", role: "parameter", type: { dtype: "f32", shape: [3, 4] } } as const;
  const { graph } = traceInto([x, ...parameters], ([start, ...weights]) => {
    const loss = autocast(
      ({ v, all }: { readonly v: Tensor; readonly all: readonly Tensor[] }) => {
        const block = (w: Tensor) =>
          wraps[wrap as "none"]((y) => mul(tanh(matMul(y, transpose(w, [1, 0]))), matMul(y, w)));
        return reduceSum(all.reduce((y, w) => block(w)(y), v));
      },
      policies[policy as "float32"],
    );
    return grad((v: Tensor) => loss({ v, all: weights }))(start as Tensor);
  });
  const emulated = emulateHalves(eliminateDeadCode(graph), ["bf16"]);
  expect(emulated.nodes.some(({ op }) => op === "Barrier")).toBe(true);
  expect(shared(graph)).toEqual([]);
  expect(shared(emulated)).toEqual([]);
});
