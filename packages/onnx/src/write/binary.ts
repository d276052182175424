import type { OpOf } from "@mp/core/graph";
import { int } from "../model.js";
import type { LoweringTable } from "./lowering.js";
import { plain } from "./plain.js";
import { throughF16 } from "./through-f16.js";

export const binaryLowerings: LoweringTable<OpOf<"binary">> = {
  Add: plain(),
  Sub: plain(),
  Mul: plain(),
  Div: plain(),
  Pow: plain(),
  Min: plain(),
  Max: plain(),
  Equal: plain(),
  Greater: plain(),
  GreaterOrEqual: plain(),
  Less: plain(),
  LessOrEqual: plain(),
  And: plain(),
  Or: plain(),
  Xor: plain(),
  Where: throughF16(plain()),
  Mod: plain(({ attributes: { fmod } }) => ({ fmod: int(fmod ? 1 : 0) })),
};
