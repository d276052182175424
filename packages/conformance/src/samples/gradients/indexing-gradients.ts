import type { OpOf } from "@mp/core/graph";
import { gather, gatherElements, gatherND, reshape, scatterElements, scatterND } from "@mp/core/ops";
import { type GradientRows, indices, sample, spread } from "../gradient-sample.js";
import { of1, of2, SOURCE } from "./of-operands.js";

export const indexingGradients: GradientRows<OpOf<"indexing">> = {
  Gather: [
    sample(
      "rows",
      of1((x) => gather(x, indices([2, 0]))),
      spread([3, 4]),
    ),
    sample(
      "repeated-rows-add-up",
      of1((x) => gather(x, indices([1, 1, 2, 1], [2, 2]))),
      spread([3, 4]),
    ),
    sample(
      "columns",
      of1((x) => gather(x, indices([3, 0, -1]), 1)),
      spread([3, 4]),
    ),
    sample(
      "one-row",
      of1((x) => gather(x, reshape(indices([1]), []))),
      spread([3, 4]),
    ),
  ],
  GatherElements: [
    sample(
      "repeated",
      of1((x) => gatherElements(x, indices([0, 2, 2, 1], [2, 2]), 1)),
      spread([2, 3]),
    ),
    sample(
      "repeated-along-the-middle",
      of1((x) => gatherElements(x, indices([0, 2, -1, 1, 1, 1, 0, 0], [2, 1, 2, 2]), 1)),
      spread([2, 3, 2, 2]),
    ),
  ],
  GatherND: [
    sample(
      "repeated",
      of1((x) => gatherND(x, indices([0, 1, 2, 1, 0, 1], [3, 2]))),
      spread([3, 4]),
    ),
    sample(
      "one-row",
      of1((x) => gatherND(x, indices([1]))),
      spread([3, 4]),
    ),
    sample(
      "one-element",
      of1((x) => gatherND(x, indices([2, -1]))),
      spread([3, 4]),
    ),
  ],
  ScatterElements: [
    sample(
      "replacing",
      of2((x, u) => scatterElements(x, indices([1, 0], [1, 2]), u)),
      spread([3, 2]),
      spread([1, 2], 1),
    ),
    sample(
      "adding",
      of2((x, u) => scatterElements(x, indices([1, 1, 2, 0], [2, 2]), u, { reduction: "add" })),
      spread([3, 2]),
      spread([2, 2], 1),
    ),
  ],
  ScatterND: [
    sample(
      "replacing",
      of2((x, u) => scatterND(x, indices([2, 0], [2, 1]), u)),
      spread([3, 2]),
      spread([2, 2], 1),
    ),
    sample(
      "adding",
      of2((x, u) => scatterND(x, indices([2, 2], [2, 1]), u, { reduction: "add" })),
      spread([3, 2]),
      spread([2, 2], 1),
    ),
    sample(
      "replacing-one-row",
      of2((x, u) => scatterND(x, indices([-1]), u)),
      spread([3, 2]),
      spread([2], 1),
    ),
    sample(
      "adding-to-one-element",
      of2((x, u) => scatterND(x, indices([1, 0]), u, { reduction: "add" })),
      spread([3, 2]),
      spread([], 1),
    ),
  ],
  OneHot: SOURCE,
};
