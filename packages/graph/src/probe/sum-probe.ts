import { type HalfDType, isFloat } from "../dtype.js";
import { decode, encodeArray } from "../float-format/bits.js";
import { ulpDistance } from "../float-format/ulp.js";
import { ADDING_OPS } from "../graph/adding-ops.js";
import { GraphBuilder } from "../graph/build/builder.js";
import type { AddingOp } from "../graph/families.js";
import type { Value } from "../graph/graph.js";
import { type HostTensor, tensor } from "../host/host-tensor.js";
import { elementCount, type Shape } from "../shape.js";
import type { ProbeGraph, ProbeResults } from "./probe-pairs.js";
import { sumProbeTable } from "./sum-probe-table.js";

/** A graph to run once, with a function that evaluates the results. */
export interface SumProbe extends ProbeGraph {
  /** The operators that did not accumulate in f32 and round once. A missing result counts as wrong. */
  narrow(results: ProbeResults): readonly AddingOp[];
}

interface Expected {
  readonly op: AddingOp;
  readonly position: number;
  readonly want: number;
  readonly ulp: number;
}

/**
 * Tests whether an engine's operators accumulate a half dtype in f32, by sums of 5000 terms, most of them too small to
 * change a partial sum in the half dtype. Some operators are tested in several forms for which engines have separate
 * kernels; a wrong result in any form counts as wrong.
 * @param ops the operators to test; omit those that the engine lacks
 */
export function sumProbe(half: HalfDType, ops: readonly AddingOp[] = ADDING_OPS): SumProbe {
  const builder = new GraphBuilder();
  const inputs: Record<string, HostTensor> = {};
  const known = new Map<string, Value>();
  const expected = new Map<string, Expected>();
  const results = new Map<string, Value>();
  const input = (key: string, make: () => HostTensor): Value => {
    const value = known.get(key);
    if (value !== undefined) return value;
    const name = `x${known.size}`;
    const data = make();
    const made = builder.input(name, { dtype: data.dtype, shape: data.shape }, "batch");
    inputs[name] = data;
    known.set(key, made);
    return made;
  };
  const table = sumProbeTable();
  for (const op of ops) {
    (table[op] as (site: object, op: AddingOp) => void)(
      {
        half,
        value: (numbers: readonly number[], shape: Shape) =>
          input(`${half} ${shape.join()} ${numbers.join()}`, () =>
            tensor(encodeArray(half, Float32Array.from(numbers)), shape, half),
          ),
        f32: (numbers: readonly number[], shape: Shape) =>
          input(`f32 ${shape.join()} ${numbers.join()}`, () => tensor(Float32Array.from(numbers), shape)),
        indices: (shape: Shape) =>
          input(`i32 ${shape.join()}`, () => tensor(new Int32Array(elementCount(shape, "probe")), shape)),
        emit: builder.emitOne.bind(builder),
        expect: (result: Value, position: number, want: number, ulp = 0) => {
          const name = `${op} ${results.size}`;
          results.set(name, result);
          expected.set(name, { op, position, want, ulp });
        },
      },
      op,
    );
  }
  return {
    graph: builder.finish(results),
    inputs,
    narrow: (got) => {
      const wrong = [...expected].filter(([name, one]) => !isRight(got[name], one));
      return [...new Set(wrong.map(([, { op }]) => op))];
    },
  };
}

function isRight(got: HostTensor | undefined, { position, want, ulp }: Expected): boolean {
  if (got === undefined || !isFloat(got.dtype)) return false;
  const number = decode(got.dtype, Number(got.data[position]));
  return ulpDistance(got.dtype, number, want) <= ulp;
}
