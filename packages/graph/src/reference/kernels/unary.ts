// Ops on one operand, with a result of its shape. The functions compute in f64; storing a result rounds it to f32, and
// `Arithmetic.round` then rounds it to the dtype.

import type { Op, OpAttributes } from "../../graph/attributes.js";
import type { OpOf } from "../../graph/families.js";
import type { Arithmetic } from "../elements/arithmetic.js";
import { erf, erfc } from "../elements/erf.js";
import { outputType, type ReferenceKernel, type ReferenceTable } from "../elements/kernel.js";
import { type BigStore, isBig, type NumberStore, operand } from "../elements/store.js";
import { castKernel } from "./cast.js";

/** Rounds to the nearest integer, ties to even; keeps the sign of zero. */
function roundHalfEven(x: number): number {
  const magnitude = Math.abs(x);
  if (!(magnitude < 2 ** 52)) return x;
  // Doubles from 2^52 have spacing 1, so this addition rounds, ties to even.
  const rounded = magnitude + 2 ** 52 - 2 ** 52;
  return x < 0 || Object.is(x, -0) ? -rounded : rounded;
}

type Fn = (x: number) => number;
type BigFn = (x: bigint) => bigint;

function apply(f: Fn, from: NumberStore, to: NumberStore): void {
  for (let i = 0; i < to.length; i++) to[i] = f(from[i] as number);
}

function applyBig(f: BigFn, from: BigStore, to: BigStore): void {
  for (let i = 0; i < to.length; i++) to[i] = f(from[i] as bigint);
}

/** Makes a kernel from a function that depends on the attributes; `big` is for ops that also take 64-bit integers. */
function mapWith<K extends Op>(
  make: (attributes: OpAttributes[K], arithmetic: Arithmetic, dtypeValue: Fn) => Fn,
  big?: (attributes: OpAttributes[K]) => BigFn,
): ReferenceKernel<K> {
  return (inputs, attributes, outputs, arithmetic) => {
    const x = operand(inputs, 0);
    const { dtype } = outputType(outputs);
    const out = arithmetic.allocate(dtype, x.data.length);
    if (isBig(x.data)) {
      if (big === undefined) throw new Error(`internal: no 64-bit form for ${dtype}`);
      applyBig(big(attributes), x.data, out as BigStore);
    } else {
      const value: Fn = (number) => arithmetic.value(x.dtype, number);
      apply(make(attributes, arithmetic, value), x.data, out as NumberStore);
    }
    return [arithmetic.round(dtype, out)];
  };
}

const map = <K extends Op>(f: Fn, big?: BigFn): ReferenceKernel<K> =>
  mapWith<K>(() => f, big === undefined ? undefined : () => big);

export const unaryKernels: ReferenceTable<OpOf<"unary">> = {
  /** The absolute value of the smallest integer is that integer itself, in two's complement. */
  Abs: map(Math.abs, (x) => (x < 0n ? -x : x)),
  Neg: map(
    (x) => -x,
    (x) => -x,
  ),
  /** NaN for NaN, +0 for both zeros. */
  Sign: map(
    (x) => (x > 0 ? 1 : x < 0 ? -1 : x === 0 ? 0 : x),
    (x) => (x > 0n ? 1n : x < 0n ? -1n : 0n),
  ),
  Floor: map(Math.floor),
  Ceil: map(Math.ceil),
  Round: map(roundHalfEven),
  Reciprocal: map((x) => 1 / x),
  Exp: map(Math.exp),
  Log: map(Math.log),
  Sqrt: map(Math.sqrt),
  Erf: map(erf),
  Tanh: map(Math.tanh),
  Sigmoid: map((x) => 1 / (1 + Math.exp(-x))),
  /** NaN propagates. */
  Relu: map((x) => Math.max(x, 0)),
  /** log(1 + eˣ), without overflow for large x. */
  Softplus: map((x) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)))),
  Sin: map(Math.sin),
  Cos: map(Math.cos),
  LeakyRelu: mapWith(({ alpha }, { attribute }) => {
    const slope = attribute(alpha);
    return (x) => (x < 0 ? slope * x : x);
  }),
  Elu: mapWith(({ alpha }, { attribute }) => {
    const scale = attribute(alpha);
    return (x) => (x < 0 ? scale * Math.expm1(x) : x);
  }),
  Gelu: mapWith(({ approximate }) => (approximate === "tanh" ? geluTanh : gelu)),
  /** NaN propagates. The limits are values of x's dtype. */
  Clip: mapWith(
    ({ min, max }, _, value) => {
      const low = min === undefined ? Number.NEGATIVE_INFINITY : value(min);
      const high = max === undefined ? Number.POSITIVE_INFINITY : value(max);
      return (x) => Math.min(Math.max(x, low), high);
    },
    ({ min, max }) => {
      const low = min === undefined || !Number.isFinite(min) ? undefined : BigInt(Math.ceil(min));
      const high = max === undefined || !Number.isFinite(max) ? undefined : BigInt(Math.floor(max));
      return (x) => (low !== undefined && x < low ? low : high !== undefined && x > high ? high : x);
    },
  ),
  Not: map((x) => (x === 0 ? 1 : 0)),
  IsNaN: map((x) => (Number.isNaN(x) ? 1 : 0)),
  IsInf: map((x) => (Math.abs(x) === Number.POSITIVE_INFINITY ? 1 : 0)),
  Identity: (inputs) => [operand(inputs, 0).data],
  Cast: castKernel,
};

/** x · Φ(x) through erfc, which keeps its digits where 1 + erf cancels. At -infinity it is NaN, like the product. */
function gelu(x: number): number {
  return 0.5 * x * erfc(-x * Math.SQRT1_2);
}

function geluTanh(x: number): number {
  return 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x * x * x)));
}
