import type { HostTensor, Shape } from "@mp/core";
import { FAMILIES, type Op, type OpAttributes, type OpOf, rowsOf } from "@mp/core/graph";
import { generated } from "../../host-data.js";
import { sample } from "../op-sample.js";
import {
  counting,
  LONG,
  natural,
  ROWS,
  type SizeRow,
  type SizeRows,
  smooth,
  TALL,
  WIDE,
  whole,
} from "./size-row.js";
import { bools, plain, positive } from "./unary-sizes.js";

/** With equal shapes, and broadcast along each axis. */
function binary<K extends Op>(
  attributes: OpAttributes[K],
  left: (shape: Shape) => HostTensor = whole,
  right: (shape: Shape) => HostTensor = natural,
): SizeRow<K> {
  return () => [
    sample<K>(attributes, left(LONG), right(LONG)),
    sample<K>(attributes, left(TALL), right([18])),
    sample<K>(attributes, left([1]), right(WIDE)),
    sample<K>(attributes, left([18, 1]), right([4_134])),
  ];
}

export const binarySizes: SizeRows<OpOf<"binary">> = {
  ...rowsOf(FAMILIES.binary, () => binary<OpOf<"binary">>(plain) as SizeRow<never>),
  Add: binary(plain, counting),
  Sub: binary(plain, counting),
  Mul: binary(plain, counting),
  Div: binary(plain, smooth),
  Pow: binary(plain, positive),
  Mod: binary({ fmod: true }, counting),
  And: binary(plain, bools, (shape) => generated("bool", shape, (at) => at % 2)),
  Or: binary(plain, bools, (shape) => generated("bool", shape, (at) => at % 2)),
  Xor: binary(plain, bools, (shape) => generated("bool", shape, (at) => at % 2)),
  Where: () => [
    sample<"Where">(plain, bools(LONG), counting(LONG), whole(LONG)),
    sample<"Where">(plain, bools([4_133, 1]), whole([18]), counting(TALL)),
    sample<"Where">(plain, bools([2]), counting(ROWS), whole([66_002, 1])),
  ],
};
