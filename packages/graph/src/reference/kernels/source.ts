import { isFloat } from "../../dtype.js";
import type { OpOf } from "../../graph/families.js";
import { randomBits } from "../../random-bits.js";
import { fromHost } from "../elements/host.js";
import { outputType, type ReferenceTable } from "../elements/kernel.js";
import { type BigStore, isBig, operand } from "../elements/store.js";
import { countElements } from "../elements/strided.js";

export const sourceKernels: ReferenceTable<OpOf<"source">> = {
  /** In f64 arithmetic the value of a literal is the number that the user wrote, without rounding. */
  Constant: (_, { value, literal }, __, arithmetic) => {
    if (literal !== undefined && arithmetic.mode === "f64" && isFloat(value.dtype)) {
      return [new Float64Array(countElements(value.shape)).fill(literal)];
    }
    return [fromHost(value, arithmetic)];
  },
  /** start + i · delta in doubles, rounded once; in integer dtypes truncated toward zero. */
  Range: (_, { start, delta }, outputs, arithmetic) => {
    const { dtype, shape } = outputType(outputs);
    const out = arithmetic.allocate(dtype, countElements(shape));
    for (let i = 0; i < out.length; i++) {
      const x = start + i * delta;
      if (isBig(out)) (out as BigStore)[i] = BigInt(Math.trunc(x));
      else out[i] = arithmetic.value(dtype, isFloat(dtype) ? x : Math.trunc(x));
    }
    return [out];
  },
  RandomBits: (inputs, { key, shape }) => {
    const drawn = operand(inputs, 0).data[0] as number;
    return [randomBits(drawn, key, countElements(shape))];
  },
  Barrier: (inputs) => [operand(inputs, 0).data],
};
