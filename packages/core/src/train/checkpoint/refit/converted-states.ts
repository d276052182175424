import { type Backend, type HostTensor, sameShape, type ValueType } from "@mp/graph";
import {
  decodeState,
  encodeState,
  formatScales,
  isStateFormat,
  type StateFormat,
  type Stored,
} from "../../../optim/states/state-format.js";
import { findPlace, type Place } from "../../../optim/states/stored-place.js";
import { runOnce } from "../../compile/compiled-programs.js";
import type { Outputs } from "../../definition/outputs.js";
import type { Slot } from "../../definition/slot.js";
import { feedName, type TypeTree, traceProgram } from "../../definition/traced-program.js";

type Types = Readonly<Record<string, ValueType>>;

/**
 * Converts optimizer state in a file to the formats of this run's slots: decodes it and encodes it again on the engine,
 * rounded to nearest. Undefined if no format differs.
 */
export async function convertStates(
  types: Types,
  tensors: Outputs,
  slotOf: (name: string) => Slot | undefined,
  backend: Backend,
): Promise<Outputs | undefined> {
  const changes = Object.entries(types).flatMap(([name, type]) => {
    const slot = slotOf(name);
    const held = Object.hasOwn(tensors, name) ? tensors[name] : undefined;
    if (slot?.group !== "optimizer" || held === undefined || held.dtype === type.dtype) return [];
    if (!isStateFormat(held.dtype) || !isStateFormat(type.dtype) || !sameShape(held.shape, type.shape))
      return [];
    const [from, to] = [findPlace(name, slot.path, tensors), findPlace(name, slot.path, types)];
    return isOwn(held.dtype, from) || isOwn(type.dtype, to) ? [] : [{ from, to, format: type.dtype }];
  });
  if (changes.length === 0) return undefined;
  const slotType = (name: string): ValueType => {
    const { dtype, shape } = tensors[name] as HostTensor;
    return { dtype, shape };
  };
  const fed: TypeTree = changes.map(({ from: { codes, scales } }) => ({
    codes: slotType(codes),
    ...(scales === undefined ? {} : { scales: slotType(scales) }),
  }));
  const program = traceProgram({ fed: { states: fed } }, (_state, { states }) => ({
    outputs: {
      states: changes.map(({ from, to, format }, at) => {
        const held = (states as readonly unknown[])[at] as Stored;
        const { codes, scales } = encodeState(decodeState(held, from.signs), format, to.signs);
        return { codes, ...(scales === undefined ? {} : { scales }) };
      }),
    },
  }));
  const names = (side: "from" | "to"): readonly (readonly [fed: string, name: string])[] =>
    changes.flatMap(({ [side]: place }, at) =>
      (["codes", "scales"] as const).flatMap((part) => {
        const name = place[part];
        return name === undefined ? [] : [[feedName("states", `${at}/${part}`), name] as const];
      }),
    );
  const values = names("from").map(([input, name]) => [input, tensors[name] as HostTensor] as const);
  const made = await runOnce(backend, program, Object.fromEntries(values));
  const old = new Set(names("from").map(([, name]) => name));
  return {
    ...Object.fromEntries(Object.entries(tensors).filter(([name]) => !old.has(name))),
    ...Object.fromEntries(names("to").map(([output, name]) => [name, made[output] as HostTensor])),
  };
}

/** Whether a custom optimizer stores the dtype by itself, without the scales of the format. */
const isOwn = (format: StateFormat, { scales }: Place): boolean =>
  scales === undefined && formatScales(format) !== undefined;
