// Mistakes in the arguments of exportOnnx, and models that it must refuse instead of writing a wrong file.
import { ops } from "@mp/core";
import { tensor } from "@mp/graph";
import { describe, expect, it } from "vitest";
import { refusal } from "../../test/small-models.js";
import { exportOnnx } from "./export-onnx.js";
import type { ExportOptions } from "./export-options.js";

const two = tensor(Float32Array.of(1, 2));
const inputs = { x: { shape: [2] } };
const identity = (_: unknown, { x }: { readonly x: Parameters<typeof ops.relu>[0] }) => ops.relu(x);

const refused = (options: unknown, weights: unknown = { params: {} }): string =>
  refusal(() =>
    exportOnnx(identity as never, weights as never, { ...{ inputs }, ...(options as ExportOptions) }),
  );

it.each([undefined, null, { params: {}, modelState: {} }, two])(
  "weights are { params, state }, case %#",
  (weights) => {
    expect(refusal(() => exportOnnx(identity as never, weights as never, { inputs }))).toMatch(
      /^MP_INVALID_ARGUMENT: exportOnnx: the second argument/,
    );
  },
);

it.each([
  [{ dynamicAxes: { x: null } }, /"x" must be an object, got null/],
  [{ dynamicAxes: { x: "batch" } }, /"x" must be an object/],
  [{ dynamicAxes: { x: { "0x0": "n" } } }, /no axis 0x0/],
  [{ dynamicAxes: { x: { "": "n" } } }, /no axis /],
  [{ metadata: { steps: 5 } }, /metadata must be an object of strings/],
  [{ inputs: { "": { shape: [2] } } }, /an input has a name/],
])("options of other kinds, %#", (options, message) => {
  expect(refused(options)).toMatch(message);
});

describe("names", () => {
  it("of outputs stay as they are: parameters yield, inputs are refused", () => {
    const model = exportOnnx(
      (params, { x }) => ({ output: ops.add(x, params.output), w: ops.mul(x, params.w) }),
      { params: { output: two, w: two } },
      { inputs },
    );
    expect(model.graph.outputs.map(({ name }) => name)).toEqual(["output", "w"]);
    expect(model.graph.initializers.map(({ name }) => name)).toEqual(["params/output", "params/w"]);
    const both = refusal(() =>
      exportOnnx((_: unknown, { x }) => ({ x: ops.relu(x) }), { params: {} }, { inputs }),
    );
    expect(both).toMatch(/"x" is the name of an input and of an output/);
  });

  it("are needed: a model gives something", () => {
    expect(refusal(() => exportOnnx(() => ({}), { params: {} }, { inputs }))).toMatch(/gives no tensor/);
  });
});

describe("sizes between the traced ones", () => {
  const image = { x: { shape: [1, 2, 4, 4] } } as const;
  const dynamicAxes = { x: { 2: "height" } } as const;

  it("show paddings that follow from the size, which are refused", () => {
    const strided = { strides: [2, 2], autoPad: "same" } as const;
    const pooled = refusal(() =>
      exportOnnx(
        (_: unknown, { x }) => ops.maxPool(x, [2, 2], strided),
        { params: {} },
        { inputs: image, dynamicAxes },
      ),
    );
    expect(pooled).toMatch(/MaxPool.*has pads that depends on it/);
  });

  it("need not be taken by the model", () => {
    const model = exportOnnx(
      (_: unknown, { x }) => {
        if ((x.shape[2] ?? 0) % 4 !== 0) throw new Error("multiples of 4");
        return ops.maxPool(x, [2, 2], { strides: [2, 2] });
      },
      { params: {} },
      { inputs: image, dynamicAxes },
    );
    expect(model.graph.inputs[0]?.type?.shape).toEqual([1, 2, "height", 4]);
  });
});
