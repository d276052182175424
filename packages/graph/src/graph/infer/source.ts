import type { OpOf } from "../families.js";
import {
  argumentError,
  expectCount,
  expectDType,
  expectShape,
  firstOperand,
  type InferTable,
  operands,
} from "./rule.js";

export const sourceInfer: InferTable<OpOf<"source">> = {
  Constant: (inputs, { value }) => {
    expectCount("Constant", inputs, 0);
    return [value];
  },
  Range: (inputs, { start, limit, delta, dtype }) => {
    expectCount("Range", inputs, 0);
    if (delta === 0 || ![start, limit, delta].every(Number.isFinite)) {
      throw argumentError("Range", `start ${start}, limit ${limit}, delta ${delta} make no finite sequence`);
    }
    return [{ dtype, shape: [Math.max(0, Math.ceil((limit - start) / delta))] }];
  },
  RandomBits: (inputs, { shape }) => {
    const [drawn] = operands("RandomBits", inputs, 1);
    expectDType("RandomBits", drawn, ["i32"], "drawn");
    expectShape("RandomBits", drawn.shape, [], "drawn");
    return [{ dtype: "i32", shape }];
  },
  Barrier: (inputs) => [firstOperand("Barrier", inputs)],
};
