import { FAMILIES, type OpOf, rowsOf } from "@mp/core/graph";
import { int } from "../model.js";
import type { LoweringTable } from "./lowering.js";
import { plain } from "./plain.js";
import { throughF16 } from "./through-f16.js";

export const binaryLowerings: LoweringTable<OpOf<"binary">> = {
  ...rowsOf(FAMILIES.binary, () => plain<OpOf<"binary">>()),
  Where: throughF16(plain()),
  Mod: plain(({ attributes: { fmod } }) => ({ fmod: int(fmod ? 1 : 0) })),
};
