import { foldIn, type HostTensor, scope } from "@mp/core";
import { checkOptions } from "@mp/core/internal";
import { gather } from "@mp/core/ops";
import { checkInitializers } from "./check-initializer.js";
import { checkSizes } from "./check-size.js";
import { type Initializer, uniform } from "./initializers.js";
import type { Layer } from "./layer.js";

export type EmbeddingParameters = { readonly table: HostTensor<"f32"> };

/** Rows of a [vocabulary, size] table at i32 indices: [...] to [..., size]. Default initial values ±0.05. */
export function embedding(
  vocabulary: number,
  size: number,
  options: { readonly table?: Initializer } = {},
): Layer<EmbeddingParameters> {
  checkSizes("embedding", { vocabulary, size });
  checkOptions("embedding", options, { table: true }, "{ table: normal(1) }");
  const { table = uniform(0.05) } = options;
  checkInitializers("embedding", { table });
  return {
    name: "embedding",
    init: (key) => ({ table: table(foldIn(key, "table"), [vocabulary, size], vocabulary, size) }),
    apply: (parameters, indices) => scope("embedding", () => gather(parameters.table, indices)),
  };
}
