// The ONNX project's own tests of operators that are read as compositions, with the numbers that they should give. All
// of its tests are run by bench/src/node-tests.ts.
import { readFileSync } from "node:fs";
import {
  applyGraph,
  type Graph,
  type HostTensor,
  isFloat,
  type Tensor,
  traceInto,
  valueAndGrad,
} from "@mp/graph";
import { mul, reduceSum, tanh } from "@mp/graph/ops";
import { evaluate, evaluateRaw } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { decodeModel } from "../decode.js";
import { toNumbers } from "../numbers.js";
import { substitutes } from "../read-as.js";
import { readGraph } from "./read.js";

type Tests = Readonly<Record<string, { readonly model: string; readonly data: string }>>;

const tests = JSON.parse(
  readFileSync(new URL("../../test/fixtures/node-tests.json", import.meta.url), "utf8"),
) as Tests;

interface Case {
  readonly graph: Graph;
  readonly inputs: Readonly<Record<string, HostTensor>>;
  readonly wanted: Readonly<Record<string, HostTensor>>;
}

const decoded = (base64: string) => decodeModel(Buffer.from(base64, "base64"), { readAs: substitutes });

/**
 * Makes a case in which everything but floats and the first input is a constant. If that cannot be read, all inputs
 * but the first, or at last all of them, are constants.
 */
function caseOf(name: string): Case {
  const { model, data } = tests[name] as Tests[string];
  const { graph, ...rest } = decoded(model);
  const tensors = new Map(decoded(data).graph.initializers.map((each) => [each.name, each.tensor]));
  const given = graph.inputs.flatMap((input, index) => {
    const tensor = tensors.get(`in/${index}`);
    return tensor === undefined ? [] : [{ name: input.name, tensor }];
  });
  const readWith = (isKnown: (index: number, tensor: HostTensor) => boolean): Case => {
    const known = given.filter(({ tensor }, index) => isKnown(index, tensor));
    const inputs = graph.inputs.filter(({ name: input }) => known.every((each) => each.name !== input));
    const initializers = [...graph.initializers, ...known];
    const read = readGraph(
      { ...rest, graph: { ...graph, inputs, initializers } },
      { isParameter: () => false },
    );
    const free = given.filter(({ name: input }) => inputs.some((each) => each.name === input));
    return {
      graph: read.graph,
      inputs: Object.fromEntries(free.map((each) => [each.name, each.tensor])),
      wanted: Object.fromEntries(
        graph.outputs.map((output, index) => [output.name, tensors.get(`out/${index}`) as HostTensor]),
      ),
    };
  };
  const attempts = [
    (index: number, tensor: HostTensor) => index > 0 && !isFloat(tensor.dtype),
    (index: number) => index > 0,
    () => true,
  ];
  for (const isKnown of attempts.slice(0, -1)) {
    try {
      return readWith(isKnown);
    } catch (error) {
      if (!/known beforehand/.test(String(error))) throw error;
    }
  }
  return readWith(() => true);
}

describe("the ONNX project's test", () => {
  it.each(Object.keys(tests))("%s", (name) => {
    const { graph, inputs, wanted } = caseOf(name);
    const found = evaluate(graph, inputs);
    for (const [output, want] of Object.entries(wanted)) {
      const got = found[output] as HostTensor;
      expect([output, got.dtype, got.shape]).toEqual([output, want.dtype, want.shape]);
      const [numbers, expected] = [toNumbers(got), toNumbers(want)];
      const unit = { f32: 1e-6, f16: 2e-3, bf16: 2e-2 }[want.dtype as string] ?? 0;
      const largest = Math.max(1, ...expected.filter(Number.isFinite).map(Math.abs));
      expected.forEach((value, at) => {
        const isSame = Object.is(numbers[at], value) || numbers[at] === value;
        if (!isSame)
          expect(Math.abs((numbers[at] as number) - value), `${output}[${at}]`).toBeLessThan(
            unit * 10 * largest,
          );
      });
    }
  });
});

/** A function that gives a sum over the first result and its gradient by the first input, with one element nudged. */
function slopes({ graph, inputs }: Case) {
  const [by = ""] = Object.keys(inputs);
  const types = Object.entries(inputs).map(([name, { dtype, shape }]) => ({
    name,
    role: "batch" as const,
    type: { dtype, shape },
  }));
  const traced = traceInto(types, (tensors) => {
    const given = Object.fromEntries(types.map(({ name }, at) => [name, tensors[at] as Tensor]));
    return valueAndGrad((x: Tensor) => {
      const [result] = Object.values(applyGraph(graph, { ...given, [by]: x }));
      return reduceSum(mul(tanh(result as Tensor), result as Tensor));
    })(given[by] as Tensor);
  });
  const start = inputs[by] as HostTensor;
  return (place: number, nudge: number) => {
    const data = Float64Array.from(toNumbers(start));
    data[place] = (data[place] as number) + nudge;
    const results = evaluateRaw(
      traced.graph,
      { ...inputs, [by]: { dtype: start.dtype, shape: start.shape, data } },
      { arithmetic: "f64" },
    );
    return { value: Number(results["value"]?.data[0]), gradient: Number(results["gradients"]?.data[place]) };
  };
}

describe("the gradient", () => {
  it.each([
    "acos",
    "asin",
    "atan",
    "attention_4d_with_past_and_present_qk_matmul_bias_3d_mask_causal",
    "attention_local_window_with_past",
    "gridsample_bicubic",
    "gridsample_border_padding",
    "gridsample_reflection_padding",
    "resize_downsample_scales_cubic_antialias",
    "reversesequence_batch",
    "rotary_embedding",
    "swiglu_alpha",
  ])("of %s agrees with finite differences", (name) => {
    const at = slopes(caseOf(name));
    const step = 1e-5;
    for (const place of [0, 1, 2]) {
      const { gradient } = at(place, 0);
      const slope = (at(place, step).value - at(place, -step).value) / (2 * step);
      expect(Math.abs(gradient - slope), `${place}: ${gradient}, ${slope}`).toBeLessThan(
        1e-4 * Math.max(1, Math.abs(slope)),
      );
    }
  });
});
