/** Slots of one element at the extremes of their dtype, written, read, passed through and committed. */
import { DTYPES, type DType, isFloat } from "@mp/graph";
import type { ConformanceCase } from "../conformance-case.js";
import { hostData, integerExtremes, specialValues } from "../host-data.js";
import { holdable } from "../short-integers.js";
import { at, buildGraph, valueType } from "../small-graphs.js";
import { expectSame } from "./kinds/scripted-case.js";
import type { Setup } from "./kinds/with-state.js";
import { stateCase } from "./state-case.js";

const extremes = (dtype: DType): readonly (number | bigint)[] =>
  isFloat(dtype) ? specialValues(dtype) : (integerExtremes[dtype] ?? [0, 1]);

/** Returns the slot's value and replaces it by x. */
const replacing = (dtype: DType): Setup => ({
  graph: buildGraph({
    inputs: { slot: valueType(dtype), x: valueType(dtype) },
    outputs: (_, inputs) => ({ saw: at(inputs, "slot"), next: at(inputs, "x") }),
  }),
  bindings: [{ slot: "slot", input: "slot", output: "next" }],
  values: { slot: hostData(dtype, [0], []) },
});

export const scalarSlotCases: readonly ConformanceCase[] = DTYPES.map((dtype) =>
  stateCase(
    `state/scalar-${dtype}/keeps-extremes`,
    () => replacing(dtype),
    async (state, executable, backend) => {
      const values = extremes(dtype).map((x) => holdable(hostData(dtype, [x], []), backend.manifest));
      for (const [index, value] of values.entries()) {
        const other = values[(index * 5 + 3) % values.length] ?? value;
        await state.write({ slot: value });
        expectSame((await state.read())["slot"], value, "a scalar slot that was written");
        expectSame((await executable.run({ x: other }))["saw"], value, "a scalar slot that a run returned");
        expectSame((await state.read())["slot"], other, "a scalar slot that a run replaced");
        const made = await backend.createState({ slot: value });
        expectSame((await made.read())["slot"], value, "a scalar slot of a new state");
        await made.dispose();
      }
    },
  ),
);
