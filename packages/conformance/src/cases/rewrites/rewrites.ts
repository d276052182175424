import type { ConformanceCase } from "../../conformance-case.js";
import {
  extremeTable,
  negativeZeroTable,
  productTable,
  quotientTable,
  signTable,
  sumTable,
} from "./arithmetic-table.js";
import { castTable } from "./cast-table.js";
import { functionChainCases } from "./function-chains.js";
import { functionTable } from "./function-table.js";
import { boolTable, comparisonTable } from "./logic-table.js";
import { movementTable, paddingTable } from "./movement-table.js";
import { constantTable, nodeTable } from "./near-equal-table.js";
import { nonFiniteChainCases } from "./non-finite-chains.js";
import { patternCases } from "./pattern-cases.js";
import { matrixTable, windowTable } from "./product-table.js";
import { reductionTable } from "./reduction-table.js";
import { softmaxTable } from "./softmax-table.js";

export const rewriteCases: readonly ConformanceCase[] = [
  ...nonFiniteChainCases,
  ...functionChainCases,
  ...patternCases("sums", sumTable),
  ...patternCases("negative-zeros", negativeZeroTable),
  ...patternCases("products", productTable),
  ...patternCases("quotients", quotientTable),
  ...patternCases("signs", signTable),
  ...patternCases("extremes", extremeTable),
  ...patternCases("functions", functionTable),
  ...patternCases("comparisons", comparisonTable),
  ...patternCases("bools", boolTable),
  ...patternCases("casts", castTable),
  ...patternCases("movements", movementTable),
  ...patternCases("paddings", paddingTable),
  ...patternCases("reductions", reductionTable),
  ...patternCases("softmax", softmaxTable),
  ...patternCases("matrices", matrixTable),
  ...patternCases("windows", windowTable),
  ...patternCases("nodes", nodeTable),
  ...patternCases("constants", constantTable),
];
