import { GraphBuilder, type OpOf } from "@mp/core/graph";
import { sample } from "../op-sample.js";
import { counting, LONG, type SizeRows, TALL } from "./size-row.js";

/** Each element a step later, after those of the carry. */
function delay(length: number, shape: readonly number[]) {
  const builder = new GraphBuilder();
  const type = { dtype: "f32" as const, shape };
  const [carry, element] = [builder.input("carry", type, "capture"), builder.input("x", type, "capture")];
  const body = builder.finish(
    new Map([
      ["carry", builder.emitOne("Identity", [element], {})],
      ["y", carry],
    ]),
  );
  return sample<"Scan">(
    { body, carries: 1, sequences: 1, length, reverse: false, saved: 0 },
    counting(shape, -1),
    counting([length, ...shape]),
  );
}

export const loopSizes: SizeRows<OpOf<"loop">> = {
  Scan: () => [delay(2, LONG), delay(TALL[0] as number, TALL.slice(1)), delay(66_002, [])],
};
