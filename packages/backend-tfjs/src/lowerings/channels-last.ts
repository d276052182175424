/**
 * The engine's convolutions, pools and normalizations have channels in the last axis, ours in the second. A tensor that
 * was transposed once is known in both layouts, so adjacent nodes need no transposition, and a gradient finds what its
 * forward node transposed.
 */
import type { Shape } from "@mp/core";
import type { Value } from "@mp/core/graph";
import type { TfWriter } from "../graph/tf-writer.js";
import { axesMoved } from "./lowering.js";

type Tensor = Pick<Value, "dtype" | "shape">;

interface KnownNames {
  readonly last: Map<string, string>;
  readonly first: Map<string, string>;
}

const known = new WeakMap<TfWriter, KnownNames>();

function knownNamesOf(writer: TfWriter): KnownNames {
  const found = known.get(writer) ?? { last: new Map(), first: new Map() };
  known.set(writer, found);
  return found;
}

/** [N, C, d…] as [N, d…, C]. */
export function channelsLast([batch = 1, channels = 1, ...rest]: Shape): Shape {
  return [batch, ...rest, channels];
}

/** The position of one of our axes in the engine's order. */
export function lastPlace(axis: number, rank: number): number {
  if (axis === 0) return 0;
  return axis === 1 ? rank - 1 : axis - 1;
}

/** The name in the engine's order, for a tensor that was transposed or was produced in that order. */
export function knownChannelsLast(x: string, writer: TfWriter): string | undefined {
  return knownNamesOf(writer).last.get(x);
}

/** `x`, of that type in our order, transposed to the engine's. */
export function toChannelsLast(x: string, { dtype, shape }: Tensor, writer: TfWriter): string {
  const { last, first } = knownNamesOf(writer);
  const before = last.get(x);
  if (before !== undefined) return before;
  const perm = channelsLast(shape.map((_, axis) => axis));
  const moved = axesMoved(x, { dtype, shape }, perm, writer);
  last.set(x, moved);
  if (moved !== x) first.set(moved, x);
  return moved;
}

/**
 * The inverse: `x` is in the engine's order, and the type is that of the result. It is transposed only when a node
 * reads it that does not take the engine's order.
 */
export function toChannelsFirst(x: string, { dtype, shape }: Tensor, writer: TfWriter): string {
  const { last, first } = knownNamesOf(writer);
  const before = first.get(x);
  if (before !== undefined) return before;
  const moved = writer.defer(() => {
    const perm = shape.map((_, axis) => lastPlace(axis, shape.length));
    return axesMoved(x, { dtype, shape: channelsLast(shape) }, perm, writer);
  });
  first.set(x, moved);
  last.set(moved, x);
  return moved;
}
