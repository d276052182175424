import type { PrecisionReport } from "@mp/core";
import { expect, it } from "vitest";
import { layerNames, withLayerNames } from "./layer-names.js";
import { layerName } from "./layers.js";

/** The names that the page shows for the layers of a report. */
const namesOf = (layers: readonly (readonly [layer: string, label?: string])[]): readonly string[] => {
  const groups = layers.map(([layer, label]) => ({ layer, ...(label === undefined ? {} : { label }) }));
  const report = { groups, casts: { nodes: [] }, gradients: { largestIn: groups[0] } };
  const { groups: shown, gradients } = withLayerNames(report as unknown as PrecisionReport);
  expect(gradients.largestIn?.layer).toBe(shown[0]?.layer);
  return shown.map(({ layer }) => layer);
};

it("names layers by what they are, and parameters as their layers", () => {
  expect(
    namesOf([
      ["0/1/batchNorm", "0 sequential/1 batchNorm/batchNorm"],
      ["0", "0 sequential/2 relu"],
      ["3/residual/body/0/conv", "3 residual/residual/body/0 conv/conv"],
      ["loss"],
      ["0/1/scale"],
      ["3/body/0/kernel"],
      ["head/0/kernel"],
    ]),
  ).toEqual([
    "0 sequential/1 batchNorm",
    "0 sequential/2 relu",
    "3 residual/body/0 conv",
    "loss",
    "0 sequential/1 batchNorm/scale",
    "3 residual/body/0 conv/kernel",
    "head/0/kernel",
  ]);
});

it("leaves a path alone that two layers have", () => {
  expect(namesOf([["0/dense", "0 dense/dense"], ["0/conv", "0 conv/conv"], ["0/kernel"]])).toEqual([
    "0 dense",
    "0 conv",
    "0/kernel",
  ]);
});

it("says of a sequential that it is one only where nothing within it is named", () => {
  expect(["0 sequential/1 batchNorm", "4 sequential", ""].map(layerName)).toEqual([
    "0/1 batchNorm",
    "4 sequential",
    "(top level)",
  ]);
});

it("names the scope of a tensor as its layer, also where the scope comes without a label", () => {
  const nodes = [
    { scope: "1/0/residual/body/3/conv", label: "1 sequential/0 residual/residual/body/3 conv/conv" },
  ];
  nodes.push({ scope: "", label: "0 relu" }, { scope: "", label: "2 relu" });
  const nameOf = layerNames({ groups: [], casts: { nodes } } as unknown as PrecisionReport);
  expect(["1/0/residual/body/3/conv", "loss", ""].map((scope) => nameOf(scope))).toEqual([
    "1 sequential/0 residual/body/3 conv",
    "loss",
    "",
  ]);
});
