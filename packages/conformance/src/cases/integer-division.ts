/** Integer division by 0, for which no result is right, and which the process must survive. */
import { type Backend, type DType, GraphBuilder, type Op } from "@mp/graph";
import type { ConformanceCase } from "../conformance-case.js";
import { fails } from "../expectations.js";
import { hostData } from "../host-data.js";
import { expectSame, scriptedCase, withExecutable } from "./kinds/scripted-case.js";

type Division = Extract<Op, "Div" | "Mod">;

/** Divides by 0. An engine may return anything, or fail with a code if it can still compute afterwards. */
function byZero(op: Division, dtype: DType): ConformanceCase {
  const builder = new GraphBuilder();
  const [x, y] = [
    builder.input("x", { dtype, shape: [3] }, "batch"),
    builder.input("y", { dtype, shape: [3] }, "batch"),
  ];
  const graph = builder.finish({
    z: op === "Div" ? builder.emitOne("Div", [x, y], {}) : builder.emitOne("Mod", [x, y], { fmod: false }),
  });
  const data = (...numbers: readonly number[]) => hostData(dtype, numbers);
  return scriptedCase(`op/${op}-${dtype}/by-zero-ends-in-a-code`, graph, (backend: Backend) =>
    withExecutable(backend, graph, async (executable) => {
      for (const y of [data(1, 0, 2), data(0, 0, 0)])
        await fails(executable.run({ x: data(7, 8, 0), y }), "a division by 0");
      const { z } = await executable.run({ x: data(7, 8, 9), y: data(2, 3, 5) });
      expectSame(z, op === "Div" ? data(3, 2, 1) : data(1, 2, 4), "a good run afterwards");
    }),
  );
}

export const integerDivisionCases: readonly ConformanceCase[] = [
  ...(["i32", "i64", "u64", "u8"] as const).map((dtype) => byZero("Div", dtype)),
  ...(["i32", "i64", "u8"] as const).map((dtype) => byZero("Mod", dtype)),
];
