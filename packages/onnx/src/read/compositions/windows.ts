// ONNX's windows of a signal and its weights of mel bands: tables that are known with their sizes.
import { type DType, tensor } from "@mp/core";
import type { Value } from "@mp/core/graph";
import { dtypeOfCode } from "../node/dtype-of-code.js";
import type { NodeReader, ReadNode } from "../node/node-reader.js";
import { scalarOperand } from "../node/scalar-operand.js";
import { expectTable } from "../node/table-limit.js";

const F32 = 1;

/** ONNX gives both of Hamming's to more digits than the usual 0.54. */
const HAMMING = 25 / 46;

/** By the angle, a whole turn from the first element to the last one, or to the one behind it. */
const FORMULAS: Readonly<
  Record<"HannWindow" | "HammingWindow" | "BlackmanWindow", (angle: number) => number>
> = {
  HannWindow: (angle) => 0.5 - 0.5 * Math.cos(angle),
  HammingWindow: (angle) => HAMMING - (1 - HAMMING) * Math.cos(angle),
  BlackmanWindow: (angle) => 0.42 - 0.5 * Math.cos(angle) + 0.08 * Math.cos(2 * angle),
};

function table(reader: NodeReader, values: Float32Array, shape: readonly number[]): Value {
  const dtype: DType = dtypeOfCode(reader, reader.int("output_datatype", F32));
  const made = reader.emitOne("Constant", [], { value: tensor(values, shape) });
  return dtype === "f32" ? made : reader.emitOne("Cast", [made], { to: dtype });
}

const window =
  (formula: (angle: number) => number): ReadNode =>
  (reader) => {
    const size = scalarOperand(reader, 0, "the size") ?? reader.unsupported("has no size");
    expectTable(reader, size);
    const turn = reader.int("periodic", 1) !== 0 ? size : size - 1;
    const values = Float32Array.from({ length: size }, (_, at) => formula((2 * Math.PI * at) / turn));
    return [table(reader, values, [size])];
  };

const melOf = (hertz: number): number => (2595 * Math.log1p(hertz / 700)) / Math.LN10;
const hertzOf = (mel: number): number => 700 * Math.expm1((mel / 2595) * Math.LN10);

/** Triangles over the bins of a spectrum, their corners at equal distances in mel. */
const melWeights: ReadNode = (reader) => {
  const [bands, length, rate, lower, upper] = ["bands", "length", "rate", "lower edge", "upper edge"].map(
    (what, index) => scalarOperand(reader, index, `the ${what}`) ?? reader.unsupported(`has no ${what}`),
  ) as [number, number, number, number, number];
  const bins = Math.floor(length / 2) + 1;
  expectTable(reader, bins, bands + 2);
  const step = (melOf(upper) - melOf(lower)) / (bands + 2);
  const corners = Array.from({ length: bands + 2 }, (_, index) =>
    Math.floor(((length + 1) * hertzOf(index * step + melOf(lower))) / rate),
  );
  if (corners.some((corner) => !(corner >= 0 && corner <= bins)))
    return reader.unsupported(`spreads bands from ${lower} to ${upper} Hz over a spectrum of ${rate / 2} Hz`);
  const values = new Float32Array(bins * bands);
  for (let band = 0; band < bands; band++) {
    const [left = 0, center = 0, right = 0] = corners.slice(band, band + 3);
    const set = (bin: number, value: number): void => {
      if (bin < bins) values[bin * bands + band] = value;
    };
    if (center === left) set(center, 1);
    for (let bin = left; center > left && bin <= center; bin++) set(bin, (bin - left) / (center - left));
    for (let bin = center; right > center && bin < right; bin++) set(bin, (right - bin) / (right - center));
  }
  return [table(reader, values, [bins, bands])];
};

export const windowReaders: ReadonlyMap<string, ReadNode> = new Map<string, ReadNode>([
  ...Object.entries(FORMULAS).map(([op, formula]) => [op, window(formula)] as const),
  ["MelWeightMatrix", melWeights],
]);
