import type { NodeReader } from "./node-reader.js";

/** How many elements a table may have that is made while a model is read, so that a short file cannot ask for much. */
const MAX_ELEMENTS = 2 ** 24;

/** @throws MP_UNSUPPORTED for a table of these sizes if that is too large, or no table at all */
export function expectTable(reader: NodeReader, ...sizes: readonly number[]): void {
  const elements = sizes.reduce((product, size) => product * size, 1);
  if (!sizes.every((size) => Number.isSafeInteger(size) && size >= 0) || elements > MAX_ELEMENTS)
    reader.unsupported(`needs a table of [${sizes.join(", ")}] numbers, here are at most ${MAX_ELEMENTS}`);
}
