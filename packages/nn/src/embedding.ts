import { foldIn, type HostTensor, scope } from "@mp/core";
import { gather } from "@mp/core/ops";
import { readOptions, withDefault } from "@mp/graph/internal";
import { type Initializer, uniform } from "./initializers.js";
import type { Layer } from "./layer.js";
import { checkSizes, initializer } from "./option-kinds.js";

export type EmbeddingParameters = { readonly table: HostTensor<"f32"> };

const EMBEDDING = { table: withDefault(uniform(0.05), initializer) };

/** Looks up rows of a [vocabulary, size] table at i32 indices: [...] to [..., size]. Default table: uniform ±0.05. */
export function embedding(
  vocabulary: number,
  size: number,
  options: { readonly table?: Initializer } = {},
): Layer<EmbeddingParameters> {
  checkSizes("embedding", { vocabulary, size });
  const { table } = readOptions("embedding", options, EMBEDDING, { example: "{ table: normal(1) }" });
  return {
    name: "embedding",
    init: (key) => ({ table: table(foldIn(key, "table"), [vocabulary, size], vocabulary, size) }),
    apply: (parameters, indices) => scope("embedding", () => gather(parameters.table, indices)),
  };
}
