// The allowed values of attributes: one row per name. An attribute name has one meaning in all ops.
import { DTYPES, dtypeHint } from "../dtype.js";
import { invalid } from "../errors.js";
import { isHostTensor } from "../host/host-tensor.js";
import { shown } from "../shown.js";
import type { Op, OpAttributes } from "./attributes.js";
import { isGraph } from "./is-graph.js";

interface Kind {
  /** The second half of the message, after the attribute's name: the allowed values. */
  readonly says: string;
  readonly holds: (value: unknown) => boolean;
}

type AttributeName = { readonly [K in Op]: keyof OpAttributes[K] }[Op];

const flag: Kind = { says: "must be true or false", holds: (value) => typeof value === "boolean" };
const number: Kind = { says: "must be a number", holds: (value) => typeof value === "number" };
const integer: Kind = { says: "must be an integer", holds: Number.isSafeInteger };
const count: Kind = {
  says: "must be an integer ≥ 0",
  holds: (value) => Number.isSafeInteger(value) && (value as number) >= 0,
};
const integers: Kind = {
  says: "must be a list of integers",
  holds: (value) => Array.isArray(value) && value.every(Number.isSafeInteger),
};
/** Limited to 32 bits, since engines use 32-bit indices. */
const steps: Kind = {
  says: `must be integers between ±${2 ** 31 - 1}`,
  holds: (value) => integers.holds(value) && (value as number[]).every((step) => Math.abs(step) < 2 ** 31),
};
const bound: Kind = {
  says: "must be a number and not NaN",
  holds: (value) => typeof value === "number" && !Number.isNaN(value),
};
const isPositive = (value: number): boolean => value > 0 && Number.isFinite(value);
const oneOf = (...names: readonly string[]): Kind => ({
  says: `must be one of ${names.join(", ")}`,
  holds: (value) => (names as readonly unknown[]).includes(value),
});

const kinds: Readonly<Record<AttributeName, Kind>> = {
  alpha: number,
  approximate: oneOf("none", "tanh"),
  axes: integers,
  axis: integer,
  batchDims: integer,
  beta: number,
  body: {
    says: "must be a graph",
    holds: isGraph,
  },
  carries: count,
  ceilMode: flag,
  countIncludePad: flag,
  delta: number,
  depth: integer,
  dilations: steps,
  dtype: oneOf(...DTYPES),
  ends: integers,
  epsilon: {
    says: "must be a number ≥ 0, finite in f32",
    holds: (value) => typeof value === "number" && value >= 0 && Number.isFinite(Math.fround(value)),
  },
  equation: { says: 'must be a string such as "ij,jk->ik"', holds: (value) => typeof value === "string" },
  exclusive: flag,
  fmod: flag,
  group: integer,
  ignoreIndex: integer,
  k: integer,
  keepdims: flag,
  kernelShape: integers,
  isCausal: flag,
  key: { says: "must be a bigint", holds: (value) => typeof value === "bigint" },
  largest: flag,
  length: count,
  limit: number,
  literal: number,
  max: bound,
  min: bound,
  mode: oneOf("constant", "reflect", "edge"),
  outputPadding: integers,
  pads: integers,
  perm: integers,
  // For losses and for scatters; type inference checks which of these values the op allows.
  reduction: oneOf("none", "mean", "sum", "add", "mul", "max", "min"),
  repeats: integers,
  reverse: flag,
  saved: count,
  scale: {
    says: "must be a number above 0 that is finite in f32",
    holds: (value) => typeof value === "number" && isPositive(Math.fround(value)),
  },
  sequences: count,
  shape: integers,
  softcap: {
    says: "must be 0, for none, or a number above 0 that is finite in f32",
    holds: (value) => value === 0 || (typeof value === "number" && isPositive(Math.fround(value))),
  },
  split: integers,
  start: number,
  starts: integers,
  steps,
  strides: steps,
  to: oneOf(...DTYPES),
  transA: flag,
  transB: flag,
  // For Pad a number, for Constant host data.
  value: {
    says: "must be a number or host data",
    holds: (value) => typeof value === "number" || isHostTensor(value),
  },
};

/** @throws MP_INVALID_ARGUMENT for a value that is invalid for the attribute, naming both */
export function checkAttribute(what: string, name: AttributeName, value: unknown): void {
  const { says, holds } = kinds[name];
  if (holds(value)) return;
  throw invalid(`${what}: ${name} ${says}, got ${shown(value)}${dtypeHint(value)}`, {
    details: { option: name },
  });
}

/** `checkAttribute` for all attributes of a node. */
export function checkAttributes(op: Op, attributes: object): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && Object.hasOwn(kinds, name)) checkAttribute(op, name as AttributeName, value);
  }
}
