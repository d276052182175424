/** Names that are known to hold +0 throughout, so that what adds to them need not read them. */
import type { TfWriter } from "../graph/tf-writer.js";

const known = new WeakMap<TfWriter, Set<string>>();

export function noteZero(name: string, writer: TfWriter): void {
  const names = known.get(writer) ?? new Set();
  known.set(writer, names.add(name));
}

export function isZero(name: string, writer: TfWriter): boolean {
  return known.get(writer)?.has(name) ?? false;
}
