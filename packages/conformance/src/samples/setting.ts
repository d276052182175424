/** Attributes of an op varied alone, in pairs and all at once, on operands where each of them makes a difference. */
import type { DType, Op, OpAttributes, OpOf } from "@mp/graph";
import type { Draws } from "../host-data.js";
import type { RandomSource } from "../random-source.js";
import type { AxisOp } from "./axis-data.js";
import type { OpSample } from "./op-sample.js";

/** Values of each attribute, the plain one first; undefined leaves an optional one out. */
export type Listed<T> = {
  readonly [A in keyof T]-?: object extends Pick<T, A> ? readonly (T[A] | undefined)[] : readonly T[A][];
};
type Factors = Readonly<Record<string, readonly unknown[]>>;
export type Chosen = Readonly<Record<string, unknown>>;

/** One op with values for each of its attributes, and for what else its operands may vary in. */
export interface Setting<K extends Op> {
  readonly factors: Factors;
  readonly attributes: readonly string[];
  /** Undefined where those values do not go together. */
  readonly sample: (chosen: Chosen, draws: Draws) => OpSample<K> | undefined;
}

const present = (chosen: Chosen, names: readonly string[]): Chosen =>
  Object.fromEntries(names.flatMap((name) => (chosen[name] === undefined ? [] : [[name, chosen[name]]])));

/**
 * `attributes` lists the values of all attributes, so that a new one does not compile without them, and `more` those of
 * the operands' forms, such as whether there is a bias.
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

/** Each value but the plain one, alone. */
export const singleChoices = (factors: Factors): readonly Chosen[] =>
  Object.entries(factors).flatMap(([name, values]) =>
    values.slice(1).map((value) => ({ ...plainChoice(factors), [name]: value })),
  );

/** Each two values of two factors. */
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
 * None where the op is not varied in that dtype. The first has all its pairs tested in the op's first dtype; of the pairs
 * of others the seed draws some.
 */
export type Options<K extends Op> = (dtype: DType) => readonly Setting<K>[];

type Unvaried = Exclude<AxisOp, OpOf<"normalization" | "batch-normalization"> | "Pad" | "OneHot">;
type WithAttributes = {
  readonly [K in Op]: keyof OpAttributes[K] extends never ? never : K;
}[Op];

/** Operators with attributes; where all of them are varied with the axis, the samples along each axis do so. */
export type OptionOp = Exclude<WithAttributes, Unvaried | (OpOf<"normalization"> & `${string}Softmax`)>;
