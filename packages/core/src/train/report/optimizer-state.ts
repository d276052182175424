import {
  byteLength,
  type DType,
  elementCount,
  floatFormats,
  type HostTensor,
  isFloat,
  isTensor,
  leavesOf,
  type Tensor,
  type ValueType,
} from "@mp/graph";
import { cast, concat, literal, reshape } from "@mp/graph/ops";
import { decodeState } from "../../optim/states/state-format.js";
import { findPlace, type Place } from "../../optim/states/stored-place.js";
import { runOnce } from "../compile/compiled-programs.js";
import { isOwnSlot, readSlot, statePart } from "../definition/objective-state.js";
import { isValueType } from "../definition/state.js";
import { traceProgram } from "../definition/traced-program.js";
import type { Inspected } from "../diagnosis/replay.js";
import { shareBelow } from "../weights/below-range.js";
import {
  buildHistogram,
  countExponents,
  type ExponentHistogram,
  ROW,
  splitVectors,
} from "./counts/exponent-counts.js";

/** A tensor of an optimizer's state: its format, and the distribution of its values. */
export interface StateTensor {
  /** Name in the optimizer's state, such as `mean`; in a group of parameters `decayed/mean`. */
  readonly slot: string;
  /** Path of the parameter that the tensor belongs to; empty if it belongs to all. */
  readonly parameter: string;
  /** The dtype of the tensor's values or codes. */
  readonly format: DType;
  /** Bytes of the tensor and its scales. */
  readonly bytes: number;
  readonly bytesInF32: number;
  /** Values by exponent; codes count as the values that they stand for. */
  readonly histogram: ExponentHistogram;
  /** Fraction of elements that are 0; if the format has less range than f32, this includes flushed ones. */
  readonly zero: number;
  /** Fraction of elements that are nonzero and below the normal range, where they have fewer digits; `u8` has no such range. */
  readonly subnormal: number;
}

interface StoredTensor {
  readonly slot: string;
  readonly parameter: string;
  readonly place: Place;
  readonly type: ValueType;
  readonly bytes: number;
}

/**
 * The floats of an objective's current optimizer state, the tensors that have lost most first; if the state is sharded,
 * only this rank's part.
 * @param paths of the trained parameters
 */
export async function optimizerState(
  { programs, definition, stateTypes }: Inspected,
  paths: ReadonlySet<string>,
): Promise<readonly StateTensor[]> {
  const state = statePart(definition, stateTypes);
  const types = Object.fromEntries(leavesOf(state, isValueType, "state"));
  const own = Object.keys(types).filter((name) => isOwnSlot(definition, name));
  const objectives = definition.objective?.all ?? [];
  const stored = listTensors(types, own, (name) => readSlot({ objectives, paths }, name));
  if (stored.length === 0) return [];
  const program = traceProgram({ state }, (tree) => {
    const leaves = new Map(leavesOf(tree, isTensor, "state"));
    return { outputs: { counts: stored.map(({ place }) => countTensor(place, leaves)) } };
  });
  const counts = await runOnce(programs.backend, program, {}, programs.state);
  return stored
    .map(({ place: _place, type, ...tensor }, index): StateTensor => {
      const [subnormal = 0, ...rest] = (counts[`counts/${index}`] as HostTensor<"f32">).data;
      const parts = Array.from({ length: rest.length / (ROW + 1) }, (_, part) =>
        rest.slice(part * (ROW + 1), (part + 1) * (ROW + 1)),
      );
      const histogram = buildHistogram(
        parts,
        parts.map((part) => part[ROW] as number),
      );
      const elements = elementCount(type.shape, "precisionReport");
      return {
        ...tensor,
        format: type.dtype,
        bytesInF32: byteLength({ ...type, dtype: "f32" }),
        histogram,
        zero: histogram.zeros / elements,
        subnormal,
      };
    })
    .sort((a, b) => shareLost(b) - shareLost(a));
}

/** The fraction of digits or elements lost. A format with the range of f32 flushes none to 0. */
function shareLost({ format, zero, subnormal }: StateTensor): number {
  const hasRange = isFloat(format) && floatFormats[format].minExponent === floatFormats.f32.minExponent;
  return hasRange ? subnormal : zero + subnormal;
}

/** Lists float tensors, and codes that have scales; scales are not listed by themselves. */
function listTensors(
  types: Readonly<Record<string, ValueType>>,
  names: readonly string[],
  slotOf: (name: string) => ReturnType<typeof readSlot>,
): readonly StoredTensor[] {
  const found = names.flatMap((name): readonly StoredTensor[] => {
    const [slot, type] = [slotOf(name), types[name]];
    if (slot?.group !== "optimizer" || type === undefined || type.shape.includes(0)) return [];
    const place = findPlace(name, slot.path, types);
    const scales = place.scales === undefined ? undefined : types[place.scales];
    if (scales === undefined && !isFloat(type.dtype)) return [];
    const bytes = byteLength(type) + (scales === undefined ? 0 : byteLength(scales));
    return [{ slot: slot.part.join("/"), parameter: slot.path ?? "", place, type, bytes }];
  });
  const scales = new Set(found.map(({ place }) => place.scales));
  return found.filter(({ place }) => !scales.has(place.codes));
}

/** Counts a tensor, f32: the fraction of subnormals, then each part's counts by exponent and largest value. */
function countTensor({ codes, scales, signs }: Place, leaves: ReadonlyMap<string, Tensor>): Tensor {
  const tensor = leaves.get(codes) as Tensor;
  const scale = scales === undefined ? undefined : leaves.get(scales);
  const values =
    scale === undefined ? cast(tensor, "f32") : decodeState({ codes: tensor, scales: scale }, signs);
  const parts = splitVectors(values).map(countExponents);
  const subnormal = isFloat(tensor.dtype) ? shareBelow(tensor, tensor.dtype) : literal(0);
  return concat([reshape(subnormal, [1]), ...parts.flatMap(({ row, largest }) => [row, largest])]);
}
