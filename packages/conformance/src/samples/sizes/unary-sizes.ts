import type { HostTensor, Shape } from "@mp/core";
import { elementCount, FAMILIES, type Op, type OpAttributes, type OpOf, rowsOf } from "@mp/core/graph";
import { generated } from "../../host-data.js";
import { sample } from "../op-sample.js";
import { counting, LONG, type SizeRow, type SizeRows, smooth, TALL } from "./size-row.js";

function unary<K extends Op>(
  attributes: OpAttributes[K],
  make: (shape: Shape) => HostTensor = smooth,
): SizeRow<K> {
  return () => [sample<K>(attributes, make(LONG)), sample<K>(attributes, make(TALL))];
}

export const plain = {};

export const positive = (shape: Shape): HostTensor => smooth(shape, 0.1, 9);

export const bools = (shape: Shape): HostTensor =>
  generated("bool", shape, (at) => (Math.floor(at / 3) + at) % 2);

/** Some NaN and infinities, including the last elements. */
const nonFinite = (shape: Shape): HostTensor => {
  const size = elementCount(shape, "test data");
  return generated("f32", shape, (at) =>
    at % 1_009 === 5 || at === size - 1
      ? Number.NaN
      : at % 1_013 === 7 || at === size - 2
        ? Number.NEGATIVE_INFINITY
        : at,
  );
};

export const unarySizes: SizeRows<OpOf<"unary">> = {
  ...rowsOf(FAMILIES.unary, () => unary<OpOf<"unary">>(plain) as SizeRow<never>),
  Reciprocal: unary(plain, positive),
  Log: unary(plain, positive),
  Sqrt: unary(plain, positive),
  LeakyRelu: unary({ alpha: 0.125 }),
  Elu: unary({ alpha: 1 }),
  Gelu: unary({ approximate: "none" }),
  Clip: unary({ min: 1_000, max: 66_000 }, counting),
  Not: unary(plain, bools),
  IsNaN: unary(plain, nonFinite),
  IsInf: unary(plain, nonFinite),
  Identity: unary(plain, counting),
  Cast: unary({ to: "i32" }, counting),
};
