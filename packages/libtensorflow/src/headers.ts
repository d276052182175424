import { join, posix } from "node:path";
import type { WheelArchive } from "@mp/wheels";

const INCLUDE = "tensorflow/include";

/** Folders below `include` that header names may be relative to, because TSL and XLA moved between releases. */
export const HEADER_ROOTS: readonly string[] = ["", "external/local_tsl", "external/local_xla"];

/** The headers that the addon's sources include. */
const FIRST: readonly string[] = [
  "tensorflow/c/c_api.h",
  "tensorflow/c/eager/c_api.h",
  "tensorflow/c/tf_datatype.h",
  "tensorflow/c/tf_status.h",
  "tensorflow/c/tf_tensor.h",
  "tensorflow/core/platform/ctstring_internal.h",
];

/**
 * Extracts the headers that the addon needs, with the headers that these include: 14 of the 12 000 in the wheel. An
 * included header that is not in the wheel belongs to the compiler, or to a preprocessor branch that is not taken.
 */
export async function extractHeaders(wheel: WheelArchive, folder: string): Promise<number> {
  const done = new Set<string>();
  const waiting = [...FIRST];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const path = HEADER_ROOTS.map((root) => posix.join(root, posix.normalize(name ?? ""))).find((path) =>
      wheel.has(`${INCLUDE}/${path}`),
    );
    if (path === undefined || done.has(path)) continue;
    done.add(path);
    await wheel.extract(`${INCLUDE}/${path}`, join(folder, path));
    const text = await wheel.text(`${INCLUDE}/${path}`);
    for (const [, named = ""] of text.matchAll(/^\s*#\s*include\s+["<]([\w./-]+)[">]/gm)) waiting.push(named);
  }
  return done.size;
}
