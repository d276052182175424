import type { Op, OpOf, Value } from "@mp/core/graph";
import type { GeneratedRows } from "../generated-row.js";
import { loop } from "../loop-samples.js";
import { binarySides } from "./elementwise-sides.js";
import { attentionSides, matrixSides } from "./matrix-sides.js";
import { indexingSides, movementSides } from "./movement-sides.js";
import { lossSides, normalizationSides, reduceSides } from "./reduce-sides.js";
import { batchNormalizationSides, convolutionSides, poolingSides } from "./window-sides.js";

/** Loops of as many runs as the elements have rows and columns. */
const loopSides: GeneratedRows<OpOf<"loop">> = {
  Scan: (dtype) =>
    [2, 3, 4].flatMap((n) =>
      [false, true].map((reverse) =>
        loop({
          dtype,
          carries: [[n, n]],
          sequences: [[n, n]],
          invariants: [[n, n]],
          length: n,
          reverse,
          step: (builder, [carry, element, invariant]) => [
            builder.emitOne("Transpose", [element as Value], { perm: [1, 0] }),
            builder.emitOne("Identity", [carry as Value], {}),
            builder.emitOne("Concat", [element as Value, invariant as Value], { axis: 1 }),
          ],
        }),
      ),
    ),
};

/**
 * The table is total over the operators for which one axis differs from another: a new op does not compile until it has
 * been tested where all sides are equal.
 */
export const sideSamples: GeneratedRows<Exclude<Op, OpOf<"unary" | "source">>> = {
  ...binarySides,
  ...matrixSides,
  ...attentionSides,
  ...convolutionSides,
  ...poolingSides,
  ...batchNormalizationSides,
  ...reduceSides,
  ...normalizationSides,
  ...lossSides,
  ...movementSides,
  ...indexingSides,
  ...loopSides,
};
