/** Attributes of an op varied alone, in pairs and all at once, on operands for which each attribute matters. */
import type { DType, Op, OpAttributes, OpOf } from "@mp/graph";
import type { Draws } from "../host-data.js";
import type { RandomSource } from "../random-source.js";
import type { AxisOp } from "./axis-data.js";
import type { OpSample } from "./op-sample.js";

/** Values of each attribute, the plain value first; undefined omits an optional attribute. */
export type Listed<T> = {
  readonly [A in keyof T]-?: object extends Pick<T, A> ? readonly (T[A] | undefined)[] : readonly T[A][];
};
type Factors = Readonly<Record<string, readonly unknown[]>>;
export type Chosen = Readonly<Record<string, unknown>>;

/** One op with values for each of its attributes and for other variations of its operands. */
export interface Setting<K extends Op> {
  readonly factors: Factors;
  readonly attributes: readonly string[];
  /** Makes a sample; undefined if the chosen values do not fit each other. */
  readonly sample: (chosen: Chosen, draws: Draws) => OpSample<K> | undefined;
}

const present = (chosen: Chosen, names: readonly string[]): Chosen =>
  Object.fromEntries(names.flatMap((name) => (chosen[name] === undefined ? [] : [[name, chosen[name]]])));

/**
 * Builds a setting. `attributes` lists values of all attributes, so that a new attribute does not compile without
 * them; `more` lists other variations, such as whether there is a bias.
 */
export function setting<K extends Op, const F extends Factors>(
  _op: K,
  attributes: Listed<OpAttributes[K]>,
  more: F,
  sample: (
    attributes: OpAttributes[K],
    more: { readonly [N in keyof F]: F[N][number] },
    draws: Draws,
  ) => OpSample<K> | undefined,
): Setting<K> {
  const names = Object.keys(attributes);
  return {
    factors: { ...(attributes as Factors), ...more },
    attributes: names,
    sample: (chosen, draws) =>
      sample(
        present(chosen, names) as OpAttributes[K],
        present(chosen, Object.keys(more)) as { readonly [N in keyof F]: F[N][number] },
        draws,
      ),
  };
}

export const plainChoice = (factors: Factors): Chosen =>
  Object.fromEntries(Object.entries(factors).map(([name, [first]]) => [name, first]));

/** Choices with one value that is not plain: each value in turn. */
export const singleChoices = (factors: Factors): readonly Chosen[] =>
  Object.entries(factors).flatMap(([name, values]) =>
    values.slice(1).map((value) => ({ ...plainChoice(factors), [name]: value })),
  );

/** Choices with two values that are not plain: each pair of two factors. */
export function pairChoices(factors: Factors): readonly Chosen[] {
  const names = Object.keys(factors);
  return names.flatMap((first, at) =>
    names
      .slice(at + 1)
      .flatMap((second) =>
        (factors[first] ?? [])
          .slice(1)
          .flatMap((one) =>
            (factors[second] ?? [])
              .slice(1)
              .map((other) => ({ ...plainChoice(factors), [first]: one, [second]: other })),
          ),
      ),
  );
}

export const drawChoice = (factors: Factors, random: RandomSource): Chosen =>
  Object.fromEntries(
    Object.entries(factors).map(([name, values]) => [name, values[random.integer(0, values.length - 1)]]),
  );

/**
 * Returns the settings of an op in a dtype, none if it is not varied in that dtype. Cases test all pairs of values for
 * the first setting in the op's first dtype, and otherwise some pairs that the seed draws.
 */
export type Options<K extends Op> = (dtype: DType) => readonly Setting<K>[];

type Unvaried = Exclude<AxisOp, OpOf<"normalization" | "batch-normalization"> | "Pad" | "OneHot">;
type WithAttributes = {
  readonly [K in Op]: keyof OpAttributes[K] extends never ? never : K;
}[Op];

/** Operators with attributes, except those whose attributes the samples along each axis vary. */
export type OptionOp = Exclude<WithAttributes, Unvaried | (OpOf<"normalization"> & `${string}Softmax`)>;
