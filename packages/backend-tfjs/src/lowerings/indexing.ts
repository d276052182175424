import type { OpOf } from "@mp/core/graph";
import type { LoweringTable } from "../graph/tf-writer.js";
import { gatherLowerings } from "./gather.js";
import { scatterLowerings } from "./scatter.js";

export const indexingLowerings: LoweringTable<OpOf<"indexing">> = { ...gatherLowerings, ...scatterLowerings };
