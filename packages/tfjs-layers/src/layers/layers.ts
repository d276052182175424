import type { LayerKind } from "../plan.js";
import { CONVOLUTION_LAYERS } from "./convolution-table.js";
import { CORE_LAYERS } from "./core-table.js";
import { MERGE_LAYERS } from "./merge-table.js";
import { NORMALIZATION_LAYERS } from "./normalization-table.js";
import { POOLING_LAYERS } from "./pooling-table.js";
import { RECURRENT_LAYERS } from "./recurrent-table.js";
import { SHAPE_LAYERS } from "./shape-table.js";
import { WRAPPER_LAYERS } from "./wrapper-table.js";

/** The kinds of layers by class; models, which can be layers too, are not among them. */
export const LAYERS: Readonly<Record<string, LayerKind>> = {
  ...CORE_LAYERS,
  ...SHAPE_LAYERS,
  ...CONVOLUTION_LAYERS,
  ...POOLING_LAYERS,
  ...NORMALIZATION_LAYERS,
  ...MERGE_LAYERS,
  ...RECURRENT_LAYERS,
  ...WRAPPER_LAYERS,
};
