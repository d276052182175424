/** Optimizer state in few bits: decoded before an update, encoded after it. */
import {
  elementCount,
  foldIn,
  isTensor,
  type Key,
  leavesOf,
  mapTree,
  type Tensor,
  type TensorTree,
} from "@mp/graph";
import { invalid } from "@mp/graph/internal";
import type { GradientTransformation, UpdateContext } from "./optimizer.js";
import type { Signs } from "./states/dynamic-map.js";
import {
  decodeState,
  encodeState,
  formatScales,
  type StateFormat,
  type Stored,
} from "./states/state-format.js";
import { STATE_OPTIONS, type StateOptions, type StateSlots } from "./states/state-options.js";

type Part<S extends TensorTree> = Pick<GradientTransformation<S>, "name" | "init" | "update" | "scope">;
type Slots = Readonly<Record<string, TensorTree>>;

/**
 * Stores the slots of a part in the formats of the options. A slot keeps its name for values or codes; their scales are in
 * a slot beside it, such as `mean.absmax`. Returns the part itself if all formats are f32.
 */
export function withStoredStates<S extends TensorTree, P extends Part<S>>(
  part: P,
  slots: StateSlots,
  options: StateOptions,
): P {
  const { states = "f32", rounding, minU8Elements = STATE_OPTIONS.minU8Elements.default } = options;
  const formats = Object.entries(slots).flatMap(([slot, signs]) => {
    const format = typeof states === "string" ? states : (states[slot] ?? "f32");
    return format === "f32" ? [] : [{ slot, signs, format }];
  });
  if (formats.length === 0) return part;
  const isStochastic = rounding === "stochastic";
  const store = (state: TensorTree, keyOf?: (slot: string) => Key): S => {
    const next: Record<string, TensorTree> = { ...(state as Slots) };
    for (const { slot, signs, format } of formats) {
      const tree = next[slot];
      if (tree === undefined) {
        if (typeof states === "string") continue;
        throw invalid(
          `${part.name}: states.${slot} must be left out: with these options it has no such slot, only ${Object.keys(next).join(", ")}`,
        );
      }
      const leaves = new Map<string, Stored>();
      for (const [path, leaf] of leavesOf(tree, isTensor, slot)) {
        const key = keyOf && foldIn(keyOf(slot), path);
        leaves.set(path, encodeState(leaf, chooseFormat(leaf, format, minU8Elements), signs, key));
      }
      const each = (of: (stored: Stored) => TensorTree): TensorTree =>
        mapTree(tree, isTensor, (_leaf, path) => of(leaves.get(path) as Stored)) as TensorTree;
      next[slot] = each(({ codes }) => codes);
      const suffix = formatScales(format)?.suffix[signs];
      if (suffix !== undefined) next[slot + suffix] = each(({ scales }) => scales ?? {});
    }
    return next as unknown as S;
  };
  const restore = (state: TensorTree): S => {
    const next: Record<string, TensorTree> = { ...(state as Slots) };
    for (const { slot, signs, format } of formats) {
      if (next[slot] !== undefined)
        next[slot] = values(next, slot, signs, formatScales(format)?.suffix[signs]);
    }
    return next as unknown as S;
  };
  // Scales, and random numbers for rounding, depend on the whole tensor.
  const isByElement = !isStochastic && formats.every(({ format }) => format === "bf16");
  return {
    ...part,
    ...(part.scope === undefined || isByElement ? {} : { scope: "leaf" }),
    init: (parameters) => store(part.init(parameters)),
    update: (gradients, state, parameters, context) => {
      const result = part.update(gradients, restore(state), parameters, context);
      return {
        ...result,
        state: store(result.state, isStochastic ? drawing(part.name, context) : undefined),
      };
    },
  };
}

/** The format of one tensor of a slot: f32 for scalars, and for tensors too small to be worth their scales. */
function chooseFormat({ shape }: Tensor, format: StateFormat, minU8Elements: number): StateFormat {
  const elements = elementCount(shape, "states");
  const isSmall = shape.length === 0 || elements === 0 || (format === "u8" && elements < minU8Elements);
  return isSmall ? "f32" : format;
}

/** Decodes the values of a slot and removes its scales from the state. */
function values(
  state: Record<string, TensorTree>,
  slot: string,
  signs: Signs,
  suffix: string | undefined,
): TensorTree {
  const of = suffix === undefined ? {} : (state[slot + suffix] ?? {});
  if (suffix !== undefined) delete state[slot + suffix];
  const scales = new Map(leavesOf(of, isTensor, slot));
  return mapTree(state[slot], isTensor, (codes, path) =>
    decodeState({ codes, scales: scales.get(path) }, signs),
  ) as TensorTree;
}

function drawing(name: string, { key }: UpdateContext): (slot: string) => Key {
  if (key !== undefined) return (slot) => foldIn(foldIn(key, name), slot);
  throw invalid(
    `${name}: rounding "stochastic" draws numbers: pass update a context with a key, { step, key: foldIn(key(42), "optimizer") }`,
  );
}
