/** Every op beyond the sizes at which engines switch to other code. */
import { type DType, floatFormats, type HostTensor, isFloat, type Op, opDTypes } from "@mp/graph";
import type { ConformanceCase } from "../conformance-case.js";
import { drawSome } from "../draw-some.js";
import { hostData, toNumbers } from "../host-data.js";
import type { RandomSource } from "../random-source.js";
import type { CommonRow } from "../samples/op-row.js";
import type { OpSample } from "../samples/op-sample.js";
import { opRows } from "../samples/op-table.js";
import { graphCase } from "./kinds/graph-case.js";
import { sampleGraph } from "./kinds/op-cases.js";

/** Converts to another dtype. Integers are truncated and never 0, so that other integers may be divided by them. */
function retype(given: HostTensor, dtype: DType): HostTensor {
  const numbers = toNumbers(given);
  if (isFloat(dtype)) {
    // Numbers beyond the format would become infinities, which hide errors and have no defined conversion to integers.
    const { maxFinite } = floatFormats[dtype];
    const within = numbers.map((x) => (Number.isFinite(x) && Math.abs(x) > maxFinite ? x % 1_024 : x));
    return hostData(dtype, within, given.shape);
  }
  const whole = numbers.map((x) => Math.trunc(x) % 2 ** 31 || 1);
  return hostData(dtype, dtype === "bool" ? whole.map((x) => x & 1) : whole, given.shape);
}

const countRows = ({ inputs: [first] }: { readonly inputs: readonly HostTensor[] }): number =>
  first?.shape[0] ?? 0;

/** The sample with the most rows, and a random one of the others. */
function two<S extends { readonly inputs: readonly HostTensor[] }>(
  random: RandomSource,
  samples: readonly S[],
): readonly S[] {
  const [tallest, ...rest] = [...samples].sort((a, b) => countRows(b) - countRows(a));
  return tallest === undefined ? [] : [tallest, ...drawSome(random, rest, 1)];
}

/** The cases of one op: in its first dtype on all samples, in each other dtype on two. */
function sizeOpCases<K extends Op>(op: K): readonly ConformanceCase[] {
  const { sizes, unsized = [] }: Pick<CommonRow<K>, "sizes" | "unsized"> = opRows[op];
  const [first, ...all] = opDTypes[op];
  const others = all.filter((dtype) => !unsized.includes(dtype));
  const inAnother = (sample: OpSample<K>, dtype: DType): OpSample<K> => ({
    ...sample,
    inputs: sample.inputs.map((tensor) => (tensor.dtype === first ? retype(tensor, dtype) : tensor)),
  });
  return [
    graphCase(`size/${op}/beyond-65-536-elements`, () => sampleGraph(op, sizes())),
    ...others.map((dtype) =>
      graphCase(`size/${op}-${dtype}/beyond-65-536-elements`, ({ random }) =>
        sampleGraph(
          op,
          two(random, sizes()).map((sample) => inAnother(sample, dtype)),
        ),
      ),
    ),
  ];
}

export const sizeCases: readonly ConformanceCase[] = (Object.keys(opRows) as Op[]).flatMap((op) =>
  sizeOpCases(op),
);
