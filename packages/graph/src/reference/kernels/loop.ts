import type { OpOf } from "../../graph/families.js";
import type { ReferenceTable } from "../elements/kernel.js";
import { outputType } from "../elements/kernel.js";
import { copyStore, type Operand, operand, readElements } from "../elements/store.js";
import { countElements } from "../elements/strided.js";

export const loopKernels: ReferenceTable<OpOf<"loop">> = {
  Scan: (inputs, { body, carries, sequences, length, reverse }, outputs, arithmetic, run) => {
    const invariants = inputs.slice(carries + sequences);
    const stacked = outputs
      .slice(carries)
      .map(({ dtype, shape }) => arithmetic.allocate(dtype, countElements(shape)));
    let carry: readonly Operand[] = inputs.slice(0, carries);
    for (let step = 0; step < length; step++) {
      const position = reverse ? length - 1 - step : step;
      const elements = inputs.slice(carries, carries + sequences).map(({ dtype, shape, data }): Operand => {
        const size = countElements(shape) / length;
        return {
          dtype,
          shape: shape.slice(1),
          data: copyStore(data, position * size, (position + 1) * size),
        };
      });
      const results = run(body, [...carry, ...elements, ...invariants], arithmetic);
      carry = results.slice(0, carries);
      stacked.forEach((into, index) => {
        const { data } = operand(results, carries + index);
        readElements(into).set(
          readElements(data),
          position * (countElements(outputType(outputs, carries + index).shape) / length),
        );
      });
    }
    return [...carry.map(({ data }) => data), ...stacked];
  },
};
