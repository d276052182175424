import { farRows } from "../far/far-table.js";
import type { RareRows } from "../rare-row.js";
import { rareOptions } from "./options.js";
import { rareSubnormals } from "./subnormals.js";

/** Several tables may have samples for one op. */
export const rareSamples: readonly RareRows[] = [rareOptions, rareSubnormals, farRows];
