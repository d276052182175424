import type { OpOf } from "../../graph/families.js";
import type { ReferenceTable } from "../elements/kernel.js";
import { gatherKernels } from "./gather.js";
import { scatterKernels } from "./scatter.js";

/** Reads never round; only scatters that accumulate compute. */
export const indexingKernels: ReferenceTable<OpOf<"indexing">> = { ...gatherKernels, ...scatterKernels };
