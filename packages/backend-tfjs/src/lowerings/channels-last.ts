/**
 * Converts between axis orders: channels are last for the engine's convolutions, pools and normalizations,
 * and second in graphs. A tensor that was transposed once is recorded in both orders, so adjacent nodes need
 * no transposition, and a gradient reuses what its forward node transposed.
 */
import type { Shape } from "@mp/graph";
import type { ScopeWriter } from "../graph/scope-writer.js";
import type { Term } from "../graph/term.js";

interface KnownTerms {
  readonly last: Map<string, Term>;
  readonly first: Map<string, Term>;
}

const known = new WeakMap<ScopeWriter, KnownTerms>();

function knownTerms(writer: ScopeWriter): KnownTerms {
  const found = known.get(writer) ?? { last: new Map(), first: new Map() };
  known.set(writer, found);
  return found;
}

/** Returns the shape [N, C, d…] as [N, d…, C]. */
export function channelsLast([batch = 1, channels = 1, ...rest]: Shape): Shape {
  return [batch, ...rest, channels];
}

/** The index in the engine's axis order of an axis of the graph. */
export function lastPlace(axis: number, rank: number): number {
  if (axis === 0) return 0;
  return axis === 1 ? rank - 1 : axis - 1;
}

/** Returns the term in the engine's axis order if it was transposed to that order or computed in it; else undefined. */
export function findChannelsLast(x: Term, writer: ScopeWriter): Term | undefined {
  return knownTerms(writer).last.get(x.name);
}

/** Transposes `x` from the graph's axis order to the engine's. */
export function toChannelsLast(x: Term, writer: ScopeWriter): Term {
  const { last, first } = knownTerms(writer);
  const before = last.get(x.name);
  if (before !== undefined) return writer.at(before.name, { dtype: x.dtype, shape: channelsLast(x.shape) });
  const moved = x.moveAxes(channelsLast(x.shape.map((_, axis) => axis)));
  last.set(x.name, moved);
  if (moved.name !== x.name) first.set(moved.name, x);
  return moved;
}

/**
 * Transposes `x` from the engine's axis order to the graph's; the result has `shape`. The Transpose is added
 * only when a node first reads the result in the graph's order.
 */
export function toChannelsFirst(x: Term, shape: Shape, writer: ScopeWriter): Term {
  const { last, first } = knownTerms(writer);
  const type = { dtype: x.dtype, shape };
  const before = first.get(x.name);
  if (before !== undefined) return writer.at(before.name, type);
  const perm = shape.map((_, axis) => lastPlace(axis, shape.length));
  const moved = writer.at(
    writer.defer(() => x.moveAxes(perm).name),
    type,
  );
  first.set(x.name, moved);
  last.set(moved.name, x);
  return moved;
}
