/**
 * Every op in each dtype but its first: a few samples, chosen so that they show every rank, axis, broadcast and
 * attribute that any of its samples shows. All dtypes are in one graph, which runs twice, on different data.
 */
import {
  type BackendManifest,
  type DType,
  type Graph,
  isEighth,
  isFloat,
  isHalf,
  type Op,
  opDTypes,
  type Shape,
} from "@mp/graph";
import type { ConformanceCase } from "../../conformance-case.js";
import { backwards, type Draws, withoutData } from "../../host-data.js";
import { randomSource } from "../../random-source.js";
import { claimsOf, covering } from "../../samples/claims.js";
import type { CommonRow } from "../../samples/op-row.js";
import type { OpSample } from "../../samples/op-sample.js";
import { opRows } from "../../samples/op-table.js";
import { type Options, plainChoice, singleChoices } from "../../samples/setting.js";
import { isBeyondShort } from "../../short-integers.js";
import { supportsAll, unsupportedGraph } from "../../support.js";
import { checkGraph, expectRefused, type GraphCheck } from "../kinds/graph-case.js";
import { sampleGraph } from "../kinds/op-cases.js";
import type { Columns } from "./column-cases.js";

const SHAPES: readonly Shape[] = [[5], [4, 3], [3, 2, 4], [2, 3, 2, 4], [2, 3, 2, 2, 2], [2, 2, 3, 2, 2, 2]];

type Row = CommonRow<Op> & Columns & { readonly options?: Options<never> };
type Sample = OpSample<Op>;
/** A sample, with its behavior if it is the first of it, which has the values that matter. */
type Named = readonly [sample: Sample, behaviour: string];

/** The small samples of a row; in halves without those of its behaviors, which the cases of `op` run. */
function smallSamples({ samples, axes, options, tails }: Row, draws: Draws): readonly Named[] {
  const behaviours = isHalf(draws.dtype) ? {} : samples(draws);
  const isEight = isEighth(draws.dtype);
  const more: readonly Sample[] = [
    ...Object.values(axes?.(draws, SHAPES) ?? {}).flat(),
    ...(isEight ? [] : (options?.(draws.dtype) ?? [])).flatMap(({ factors, sample }) =>
      [plainChoice(factors), ...singleChoices(factors)].flatMap((chosen) => sample(chosen, draws) ?? []),
    ),
    ...(isEight ? [] : (tails?.(draws) ?? [])),
  ];
  return [
    ...Object.entries(behaviours).flatMap(([behaviour, list]) =>
      list.map((sample, at): Named => [sample, at === 0 ? behaviour : ""]),
    ),
    ...more.map((sample): Named => [sample, ""]),
  ];
}

function formCase(op: Op, dtypes: readonly DType[]): ConformanceCase {
  const row = opRows[op] as Row;
  /** The chosen samples of each dtype; dtypes with as many samples have the same ones. A call keeps nothing. */
  const samplesIn = (wanted: readonly DType[], random: Draws["random"]): readonly Sample[] => {
    const chosen = new Map<number, readonly number[]>();
    return wanted.flatMap((dtype) => {
      const all = smallSamples(row, { dtype, random });
      const places =
        chosen.get(all.length) ?? covering(all.map(([sample, name]) => [name, ...claimsOf(sample)]));
      chosen.set(all.length, places);
      return places.map((at) => (all[at] as Named)[0]);
    });
  };
  const sketches = new Map<DType, Graph>();
  const sketch = (dtype: DType): Graph => {
    const make = (): Graph => sampleGraph(op, samplesIn([dtype], randomSource(0, ""))).graph;
    const graph = sketches.get(dtype) ?? withoutData(make);
    sketches.set(dtype, graph);
    return graph;
  };
  const reasonFor = (manifest: BackendManifest, dtype: DType): string | undefined =>
    supportsAll(manifest) ? undefined : unsupportedGraph(manifest, sketch(dtype));
  const check = (samples: readonly Sample[]): GraphCheck => {
    const first = sampleGraph(op, samples);
    // Some operands of a gradient operator were computed from its others, and must still fit them.
    const isFree = (dtype: DType): boolean => isFloat(dtype) && !op.endsWith("Gradient");
    const again = Object.entries(first.inputs).map(([name, tensor]) => [
      name,
      name.endsWith(".operand0") || isFree(tensor.dtype) ? backwards(tensor) : tensor,
    ]);
    return { ...first, again: Object.fromEntries(again) };
  };
  return {
    id: `form/${op}/in-other-dtypes`,
    unsupported: (manifest) => {
      const reasons = dtypes.map((dtype) => reasonFor(manifest, dtype));
      return reasons.includes(undefined) ? undefined : reasons[0];
    },
    refuses: (backend) => expectRefused(backend, sketch(dtypes[0] as DType)),
    run: async (backend, context) => {
      const taken = dtypes.filter((dtype) => reasonFor(backend.manifest, dtype) === undefined);
      const samples = samplesIn(taken, context.random);
      const isLong = ({ inputs }: Sample): boolean => inputs.some(isBeyondShort);
      for (const part of [samples.filter((one) => !isLong(one)), samples.filter(isLong)])
        if (part.length > 0) await checkGraph(backend, check(part), context);
    },
  };
}

export const formCases: readonly ConformanceCase[] = (Object.keys(opRows) as Op[]).flatMap((op) => {
  const [, ...others] = opDTypes[op];
  return others.length === 0 ? [] : [formCase(op, others)];
});
