/** Every op beyond the sizes at which engines switch to other code. */
import { floatFormats, type HostTensor, type Op } from "@mp/graph";
import type { ConformanceCase } from "../conformance-case.js";
import { drawSome } from "../draw-some.js";
import { hostData, toNumbers } from "../host-data.js";
import type { RandomSource } from "../random-source.js";
import type { CommonRow } from "../samples/op-row.js";
import type { OpSample } from "../samples/op-sample.js";
import { opRows } from "../samples/op-table.js";
import { graphCase } from "./kinds/graph-case.js";
import { sampleGraph } from "./kinds/op-cases.js";

/** Operators whose kernels of halves switch elsewhere. */
const IN_HALVES: readonly Op[] = ["MatMul", "Conv", "Transpose", "ArgMax"];

/** Converts to f16. Numbers beyond it would become infinities, which hide errors. */
function halve(given: HostTensor): HostTensor {
  const { maxFinite } = floatFormats.f16;
  const within = toNumbers(given).map((x) => (Number.isFinite(x) && Math.abs(x) > maxFinite ? x % 1_024 : x));
  return hostData("f16", within, given.shape);
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

/** The cases of an operator: one runs all samples in its first dtype; another two of them in f16, for some operators. */
function sizeOpCases<K extends Op>(op: K): readonly ConformanceCase[] {
  const { sizes }: Pick<CommonRow<K>, "sizes"> = opRows[op];
  const inHalves = (sample: OpSample<K>): OpSample<K> => ({
    ...sample,
    inputs: sample.inputs.map((tensor) => (tensor.dtype === "f32" ? halve(tensor) : tensor)),
  });
  const whole = graphCase(`size/${op}/beyond-65-536-elements`, () => sampleGraph(op, sizes()));
  if (!IN_HALVES.includes(op)) return [whole];
  const halves = graphCase(`size/${op}-f16/beyond-65-536-elements`, ({ random }) =>
    sampleGraph(op, two(random, sizes()).map(inHalves)),
  );
  return [whole, halves];
}

export const sizeCases: readonly ConformanceCase[] = (Object.keys(opRows) as Op[]).flatMap((op) =>
  sizeOpCases(op),
);
