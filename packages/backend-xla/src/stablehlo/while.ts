import type { Emitter } from "./emitter.js";
import type { Operand } from "./operand.js";
import { namesText, typesText } from "./tensor-type.js";

type Values = readonly Operand[];

/**
 * Repeats `body` while `condition` returns true, a scalar bool. Both read the values that they are given, and no other
 * operands.
 */
export function repeatWhile(
  emitter: Emitter,
  initial: Values,
  condition: (values: Values) => Operand,
  body: (values: Values) => Values,
): Values {
  const types = initial.map(({ type }) => type);
  const regions = [emitter.region(types, (values) => [condition(values)]), emitter.region(types, body)].join(
    ", ",
  );
  const text = typesText(initial);
  return emitter.emitMany(
    `"stablehlo.while"(${namesText(initial)}) (${regions}) : (${text}) -> (${text})`,
    types,
  );
}
