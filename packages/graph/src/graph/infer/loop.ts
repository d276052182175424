import type { GraphInput, ValueType } from "../attributes.js";
import type { OpOf } from "../families.js";
import { formatType } from "../format-type.js";
import { argumentError, expectCount, type InferTable } from "./rule.js";

export const loopInfer: InferTable<OpOf<"loop">> = {
  Scan: (inputs, { body, carries, sequences, length, saved }) => {
    expectCount("Scan", inputs, body.inputs.length);
    if (carries + sequences > inputs.length || carries > body.outputs.length) {
      throw argumentError("Scan", `${carries} carries and ${sequences} sequences are more than the body has`);
    }
    if (saved > body.outputs.length - carries) {
      throw argumentError(
        "Scan",
        `saved is ${saved}, the body stacks ${body.outputs.length - carries} outputs`,
      );
    }
    if (length === 0) throw argumentError("Scan", "length is 0; a scan has at least one step");
    body.inputs.forEach((input, index) => {
      const type = inputs[index] as ValueType;
      const isSequence = index >= carries && index < carries + sequences;
      if (isSequence && type.shape[0] !== length) {
        throw argumentError(
          "Scan",
          `sequence ${index - carries} is ${formatType(type)}, of length ${length} wanted`,
        );
      }
      expectType(input, isSequence ? { ...type, shape: type.shape.slice(1) } : type);
    });
    const results = body.outputs.map(({ value }) => ({ dtype: value.dtype, shape: value.shape }));
    results.slice(0, carries).forEach((next, index) => {
      expectType(body.inputs[index] as GraphInput, next);
    });
    return results.map((type, index) =>
      index < carries ? type : { ...type, shape: [length, ...type.shape] },
    );
  },
};

function expectType({ name, value }: GraphInput, type: ValueType): void {
  if (formatType(value) === formatType(type)) return;
  throw argumentError(
    "Scan",
    `the body's input "${name}" must be ${formatType(value)}, got ${formatType(type)}`,
  );
}
