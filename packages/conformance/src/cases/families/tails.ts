/** Every operator at every length from 1 to 70, so that every remainder is left after an engine's wide registers. */
import { DTYPES, type DType, isComputeFloat, isFloat } from "@mp/graph";
import type { ConformanceCase } from "../../conformance-case.js";
import type { RandomSource } from "../../random-source.js";
import { type OpSample, sample } from "../../samples/op-sample.js";
import { drawBetween, everySeventh, LENGTHS, label } from "../../samples/tail-data.js";
import { graphCase } from "../kinds/graph-case.js";
import { sampleGraph } from "../kinds/op-cases.js";
import { columnCases } from "./column-cases.js";

const LENGTHS_1_TO_70 = "lengths-1-to-70";

/** Casts at many lengths: of fractions between floats, otherwise of whole numbers that both dtypes hold. */
function castTail(from: DType, to: DType, random: RandomSource): readonly OpSample<"Cast">[] {
  const unsigned = to === "u8" || to === "u64";
  const apart = DTYPES.indexOf(from) + DTYPES.indexOf(to);
  const lengths = isComputeFloat(from) && to === "f32" ? LENGTHS : everySeventh(apart);
  return (from === "f32" && isComputeFloat(to) ? LENGTHS : lengths).map((length) =>
    sample<"Cast">(
      { to },
      isFloat(from)
        ? drawBetween({ random, dtype: from }, [length], [unsigned ? 0 : -8, 8])
        : label({ random, dtype: from }, [length]),
    ),
  );
}

const casts: readonly ConformanceCase[] = DTYPES.flatMap((from) =>
  DTYPES.filter((to) => from !== to && [from, to].includes("f32")).map((to) =>
    graphCase(`tail/Cast-${from}-to-${to}/${LENGTHS_1_TO_70}`, ({ random }) =>
      sampleGraph("Cast", castTail(from, to, random)),
    ),
  ),
);

export const tailCases: readonly ConformanceCase[] = [
  ...columnCases("tail", LENGTHS_1_TO_70, ["f32"], ({ tails }) => tails),
  ...casts,
];
