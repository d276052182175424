// Models as PyTorch, Keras and scikit-learn export them: test/fixtures/exports.py wrote them.
import { describe, expect, it } from "vitest";
import { type Expectation, expectations, expectFixture } from "../../test/expectations.js";

const expected = expectations("exports");

/** The initializers of each model that are not parameters. */
const constants: Readonly<Record<string, readonly string[]>> = {
  "export-torch-pictures": [
    "norm.running_mean: running mean of BatchNormalization",
    "norm.running_var: running variance of BatchNormalization",
    // A Constant node.
    "val_14: operand 2 of Resize, which holds no weights there",
  ],
  "export-torch-encoder": [],
  "export-torch-decoder": [
    "cos: a table of sines and cosines",
    "sin: a table of sines and cosines",
    "mask: a mask, of 0 and numbers without bounds, or of 0 and 1",
    "val_25: a scalar",
  ],
  "export-torch-llama": [
    "mask: a mask, of 0 and numbers without bounds, or of 0 and 1",
    "onnx::Expand_178: frequencies of angles",
  ],
};

describe("models as exporters write them", () => {
  it.each(Object.keys(expected))("%s computes what its framework does", (name) => {
    expectFixture(name, expected[name] as Expectation, { sizes: { batch: 1, "X[0]": 3 } });
  });

  it.each(Object.entries(constants))("%s has its weights for parameters and nothing else", (name, want) => {
    const { initializers, parameters, graph } = expectFixture(name, expected[name] as Expectation);
    const kept = initializers.filter(({ isParameter }) => !isParameter);
    expect(kept.map(({ name, reason }) => `${name}: ${reason}`)).toEqual(want);
    const trained = initializers.filter(({ isParameter }) => isParameter).map(({ name }) => name);
    expect(Object.keys(parameters).toSorted()).toEqual(trained.toSorted());
    const inputs = graph.inputs.filter(({ role }) => role === "parameter").map(({ name }) => name);
    expect(inputs.toSorted()).toEqual(trained.toSorted());
  });
});
