/** Models exported for inference, run by plain onnxruntime-node and compared with the oracle on the traced function. */
import { decodeArray, encodeArray, type HostTensor, type Tensor, tensor, traceInto } from "@mp/graph";
import { evaluate } from "@mp/graph/reference";
import * as engine from "onnxruntime-node";
import { describe, expect, it } from "vitest";
import { at, type Case, cases, exported, numbers, OPSETS, type Weights } from "./exported-cases.js";

async function onEngine(bytes: Uint8Array, x: HostTensor): Promise<HostTensor> {
  const session = await engine.InferenceSession.create(bytes);
  try {
    expect([session.inputNames, session.outputNames]).toEqual([["x"], ["output"]]);
    const { output } = await session.run({
      x: new engine.Tensor("float32", x.data as Float32Array, x.shape),
    });
    expect(output?.type).toBe("float32");
    return tensor(output?.data as Float32Array, [...(output?.dims ?? [])]);
  } finally {
    await session.release();
  }
}

function onOracle({ run, state = {} }: Case, params: Weights, x: HostTensor): HostTensor {
  const entries = Object.entries({ ...params, ...state, x });
  const inputs = entries.map(([name, type]) => ({ name, role: "batch" as const, type }));
  const { graph } = traceInto(inputs, (tensors) => {
    const values = Object.fromEntries(entries.map(([name], index) => [name, tensors[index] as Tensor]));
    return run(values, at(values, "x"), { training: false, modelState: values });
  });
  const [result] = Object.values(evaluate(graph, Object.fromEntries(entries)));
  return result as HostTensor;
}

/** Rounds parameters as storage in that dtype does. */
const rounded = (params: Weights, dtype: "f32" | "f16" | "bf16"): Weights =>
  Object.fromEntries(
    Object.entries(params).map(([name, { data, shape }]) => [
      name,
      tensor(decodeArray(dtype, encodeArray(dtype, data)), shape),
    ]),
  );

describe.each(Object.entries(cases))("%s", (_, one) => {
  // The CPU computes in f16, or in f32 where it has no kernel; bf16 is stored alone.
  const tolerances = [
    ["f32", 1e-5],
    ["f16", 1e-2],
    ["bf16", 1e-5],
  ] as const;
  it.each(tolerances.filter(([dtype]) => dtype !== "f16" || !one.isLoop))(
    "gives the oracle's numbers in %s, at every size",
    async (dtype, tolerance) => {
      const bytes = exported(one, dtype);
      for (const [batch, time] of [
        [1, 1],
        [4, 3],
        [7, 11],
      ] as const) {
        const x = numbers(9, one.shape(batch, time));
        const wanted = onOracle(one, rounded(one.params, dtype), x);
        const found = await onEngine(bytes, x);
        expect(found.shape).toEqual(wanted.shape);
        wanted.data.forEach((want, index) => {
          const difference = Math.abs(Number(found.data[index]) - Number(want));
          expect(difference, `${batch}, ${time} [${index}]`).toBeLessThan(tolerance);
        });
      }
    },
  );

  it.each(OPSETS)("gives the oracle's numbers from a file of opset %d", async (opset) => {
    const x = numbers(9, one.shape(3, 2));
    const found = await onEngine(exported(one, "f32", opset), x);
    onOracle(one, one.params, x).data.forEach((want, index) => {
      expect(Math.abs(Number(found.data[index]) - Number(want))).toBeLessThan(1e-5);
    });
  });
});
