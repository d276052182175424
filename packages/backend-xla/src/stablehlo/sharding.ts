/**
 * Tells XLA, in the dialect Shardy, which part of a value each of several devices holds. XLA shards the work
 * accordingly, and adds up partial sums of the devices.
 */
import type { Shape, ValueType } from "@mp/graph";
import type { Emitter } from "./emitter.js";
import { reduce } from "./fold.js";
import { dtypeOf, type Operand, shapeOf, sizeOf } from "./operand.js";
import { namesText, typesText, typeText } from "./tensor-type.js";

/** The declaration of the devices in a module. */
export const devicesText = (devices: number): string => `sdy.mesh @mesh = <["devices"=${devices}]>`;

/** The sharding of a value: its rows are sharded over the devices, or every device holds the whole value. */
function shardingText(shape: Shape, isDivided: boolean): string {
  const axes = shape.map((_, axis) => (isDivided && axis === 0 ? '{"devices"}' : "{}"));
  return `<@mesh, [${axes.join(", ")}]>`;
}

/** The sharding as an attribute of an argument or a result. */
export const shardingAttribute = (shape: Shape, isDivided: boolean): string =>
  `sdy.sharding = #sdy.sharding${shardingText(shape, isDivided)}`;

/**
 * Sums, in f32, the results that each device computes from its own rows of two operands, and rounds the sum once. (XLA
 * itself would add half results of different devices in the half dtype.) With one device, or if the rows cannot be
 * sharded equally, every device computes from all rows.
 * @param type of the result of `part`, and of the sum
 * @param part emits the computation on rows of both operands
 */
export function sumParts(
  emitter: Emitter,
  operands: readonly [Operand, Operand],
  { dtype, shape }: ValueType,
  part: (a: Operand, b: Operand) => Operand,
): Operand {
  const { devices } = emitter.options;
  if (devices === 1 || operands.some((x) => sizeOf(x, 0) % devices !== 0)) return part(...operands);
  const own = operands.map((x): ValueType => {
    return { dtype: dtypeOf(x), shape: shapeOf(x).with(0, sizeOf(x, 0) / devices) };
  });
  const body = emitter.region(
    own,
    ([a, b]) => [emitter.reshape(emitter.convert(part(a as Operand, b as Operand), "f32"), [1, ...shape])],
    "sdy.return",
  );
  const all: ValueType = { dtype: "f32", shape: [devices, ...shape] };
  const divided = (shapes: readonly Shape[]): string =>
    `#sdy.sharding_per_value<[${shapes.map((each) => shardingText(each, true)).join(", ")}]>`;
  const parts = emitter.emit(
    `"sdy.manual_computation"(${namesText(operands)}) <{in_shardings = ${divided(operands.map(shapeOf))}, out_shardings = ${divided([all.shape])}, manual_axes = #sdy<manual_axes{"devices"}>}> (${body}) : (${typesText(operands)}) -> ${typeText(all)}`,
    all,
  );
  return emitter.convert(reduce(emitter, "add", parts, [0]), dtype);
}
