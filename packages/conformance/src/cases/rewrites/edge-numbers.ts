/** Numbers that break identities which hold for most other numbers. */
import { type DType, floatFormats, isFloat } from "@mp/graph";
import { integerExtremes } from "../../host-data.js";

/** Number of edge numbers; the same for every dtype, so that all tables of pairs have one size. */
const COUNT = 16;

const FILLING: readonly bigint[] = [2n, 3n, 100n, 6n, 7n, 31n, 10n, 9n, 4n, 12n];

/** Sixteen numbers of the dtype. With `flushes`, for engines that flush, no product of three is subnormal. */
export function edgeNumbers(dtype: DType, flushes: boolean): readonly (number | bigint)[] {
  const numbers = allNumbers(dtype);
  if (!flushes) return numbers;
  const tame = numbers.filter(
    (x) => !(Math.abs(Number(x)) < 2 ** -4 && Number(x) !== 0) && !isLarge(Number(x)),
  );
  return numbers.map((_, at) => tame[at % tame.length] ?? 0);
}

const isLarge = (x: number): boolean => Number.isFinite(x) && Math.abs(x) > 16;

function allNumbers(dtype: DType): readonly (number | bigint)[] {
  if (dtype === "bool") return Array.from({ length: COUNT }, (_, at) => (at + (at >> 1)) % 2);
  if (!isFloat(dtype)) return [...new Set([...(integerExtremes[dtype] ?? []), ...FILLING])].slice(0, COUNT);
  const { maxFinite, minNormal, minSubnormal, fractionBits } = floatFormats[dtype];
  return [
    0,
    -0,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    Number.NaN,
    1,
    -1,
    1.5,
    -3,
    3 * minSubnormal,
    -minNormal,
    maxFinite,
    -0.75 * maxFinite,
    2 ** (fractionBits + 1) - 1,
    0.1,
    10.3,
  ];
}
