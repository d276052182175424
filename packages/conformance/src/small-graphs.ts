/** Small graphs for the cases about lifecycles and states, with only trivial arithmetic. */
import {
  type DType,
  type Graph,
  GraphBuilder,
  type HostTensor,
  type Shape,
  tensor,
  type Value,
  type ValueType,
} from "@mp/graph";

export const f32 = (...numbers: readonly number[]): HostTensor<"f32"> => tensor(Float32Array.from(numbers));
export const scalar = (x: number): HostTensor<"f32"> => tensor(Float32Array.of(x), []);
export const flag = (holds: boolean): HostTensor => tensor(Uint8Array.of(holds ? 1 : 0), [], "bool");

export const valueType = (dtype: DType, ...shape: Shape): ValueType => ({ dtype, shape });

export interface GraphParts {
  readonly inputs: Readonly<Record<string, ValueType>>;
  readonly outputs: (
    builder: GraphBuilder,
    inputs: Readonly<Record<string, Value>>,
  ) => Readonly<Record<string, Value>>;
}

export function buildGraph({ inputs, outputs }: GraphParts): Graph {
  const builder = new GraphBuilder();
  const values = Object.fromEntries(
    Object.entries(inputs).map(([name, type]) => [name, builder.input(name, type, "batch")]),
  );
  return builder.finish(outputs(builder, values));
}

/** The value with a name. @throws Error if there is none */
export function at(values: Readonly<Record<string, Value>>, name: string): Value {
  const value = values[name];
  if (value === undefined) throw new Error(`internal: no value ${name}`);
  return value;
}

export const sum = (builder: GraphBuilder, a: Value, b: Value): Value => builder.emitOne("Add", [a, b], {});

/** y = x + x for f32[3]. */
export const doubling: Graph = buildGraph({
  inputs: { x: valueType("f32", 3) },
  outputs: (builder, inputs) => ({ y: sum(builder, at(inputs, "x"), at(inputs, "x")) }),
});

/** z = x + y for f32[3]. */
export const adding: Graph = buildGraph({
  inputs: { x: valueType("f32", 3), y: valueType("f32", 3) },
  outputs: (builder, inputs) => ({ z: sum(builder, at(inputs, "x"), at(inputs, "y")) }),
});
