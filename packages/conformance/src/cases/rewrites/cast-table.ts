/** Chains of casts back to the first dtype. They lose bits unless the dtype in between is at least as wide. */
import { type DType, floatFormats, isFloat } from "@mp/graph";
import { FLOATS, type Make, only, type Pattern, type PatternTable } from "./pattern.js";

const THROUGH: readonly DType[] = [...FLOATS, "i32", "i64", "u8", "bool"];
const FROM: readonly DType[] = [...FLOATS, "i32", "i64", "u8", "bool"];

const isInteger = (dtype: DType): boolean => !isFloat(dtype) && dtype !== "bool";

/** Largest magnitude for each integer dtype; half dtypes cannot hold all integers up to this magnitude. */
const RANGES: Readonly<Partial<Record<DType, number>>> = { i32: 2 ** 30, i64: 2 ** 40, u8: 255 };

/** Elements of `from` that are in the range of every integer dtype of the chain. */
function chainElements(from: DType, chain: readonly DType[]): (at: number) => number {
  const integers = chain.filter((dtype) => isInteger(dtype) && RANGES[dtype] !== undefined);
  const unsigned = from === "bool" || [from, ...integers].includes("u8");
  const limit = Math.min(
    ...[from, ...integers].map((dtype) =>
      isFloat(dtype) ? floatFormats[dtype].maxFinite / 8 : (RANGES[dtype] ?? 1),
    ),
    ...chain
      .filter((dtype) => isFloat(dtype))
      .map((dtype) => (isFloat(dtype) && integers.length > 0 ? floatFormats[dtype].maxFinite / 8 : Infinity)),
  );
  return (at) => {
    const sign = unsigned || at % 2 === 0 ? 1 : -1;
    const scale = 2 ** (((at * 5) % 23) - 3);
    const x = isInteger(from) ? Math.floor(scale * (1 + (at % 7) / 7)) : scale * (1 + (at % 13) / 13);
    return sign * Math.min(x, Math.floor(limit));
  };
}

function castChain(chain: readonly DType[]): Make {
  return ({ dtype, of, Cast }) =>
    chain.reduce((value, to) => Cast({ to }, value), of([4, 20], chainElements(dtype, chain)));
}

const patterns: Record<string, Pattern> = {};
for (const from of FROM) {
  const add = (title: string, make: Make): void => {
    patterns[title] = only([from], make);
  };
  for (const middle of THROUGH) {
    add(`${from}, ${middle} and back`, castChain([middle, from]));
    for (const last of THROUGH)
      if (last !== middle && last !== from) add(`${from}, ${middle}, ${last}`, castChain([middle, last]));
  }
  add(`${from} through two dtypes and back`, castChain(["f32", "f16", "i32", from]));
  add(`${from} to itself`, castChain([from, from]));
  // The edges include infinities and NaN, which bool turns into true and back into 1; integers cannot hold them.
  if (isFloat(from)) {
    for (const middle of ["f32", "f16", "bf16", "bool"] as const)
      add(`edges of ${from}, ${middle} and back`, ({ x, Cast }) =>
        Cast({ to: from }, Cast({ to: middle }, x)),
      );
    add(`a sum of ${from} in f32`, ({ x, y, Cast, Add }) =>
      Cast({ to: from }, Add(Cast({ to: "f32" }, x), Cast({ to: "f32" }, y))),
    );
    add(`a sum of three ${from} in f32`, ({ x, y, z, Cast, Add }) => {
      const [a, b, c] = [x, y, z].map((value) => Cast({ to: "f32" }, value)) as [never, never, never];
      return Cast({ to: from }, Add(Add(a, b), c));
    });
    add(`a sum of ${from} in f16`, ({ x, y, Mul, Cast }) => Cast({ to: "f16" }, Mul(x, y)));
    for (const half of ["f16", "bf16"] as const)
      add(`a product of ${from} as ${half}`, ({ x, y, Cast, Mul }) =>
        Mul(Cast({ to: half }, x), Cast({ to: half }, y)),
      );
    add(`a transpose between casts of ${from}`, ({ of, Cast, Transpose }) => {
      const half = Cast(
        { to: "bf16" },
        of([3, 5], (at) => 1 + at / 64),
      );
      return Cast({ to: from }, Transpose({ perm: [1, 0] }, half));
    });
    add(`floor of ${from} as an integer`, ({ of, Floor, Cast }) =>
      Cast({ to: from }, Cast({ to: "i32" }, Floor(of([4, 20], chainElements(from, ["i32"]))))),
    );
  } else {
    add(`edges of ${from} through bool`, ({ x, Cast }) => Cast({ to: from }, Cast({ to: "bool" }, x)));
    for (const to of FLOATS) add(`edges of ${from} as ${to}`, ({ x, Cast }) => Cast({ to }, x));
  }
}

export const castTable: PatternTable = { dtypes: FROM, patterns };
