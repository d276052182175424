import {
  bytesPerElement,
  DTYPES,
  type DType,
  GraphBuilder,
  type HostTensor,
  hostArrayOf,
  isEighth,
  type Shape,
} from "@mp/graph";
import { describe, expect, it } from "vitest";
import { tfjs } from "../../src/index.js";
import { withTensorFlow } from "./installed-tensorflow.js";

const carried = DTYPES.filter((dtype) => !isEighth(dtype));
const shapes: readonly Shape[] = [[], [1], [2], [3], [2, 3], [5, 1, 3], [0], [2, 0, 3], [4, 64]];

/** Data with every byte value, so also signaling NaNs, neighbors of both infinities and subnormals. */
function filled(dtype: DType, shape: Shape, seed: number): HostTensor {
  const count = shape.reduce((product, size) => product * size, 1);
  const isBool = dtype === "bool";
  const bytes = Uint8Array.from(
    { length: count * bytesPerElement[dtype] },
    (_, at) => (at * 151 + seed * 89) & (isBool ? 1 : 0xff),
  );
  return { dtype, shape, data: new hostArrayOf[dtype](bytes.buffer) } as HostTensor;
}

const bytesOf = (value: HostTensor | undefined): readonly number[] => {
  if (value === undefined) return [];
  const { buffer, byteOffset, byteLength } = value.data;
  return [...new Uint8Array(buffer, byteOffset, byteLength)];
};

await withTensorFlow((tf) => {
  describe("bits that come back as they went", () => {
    it.each(carried)("%s, through handles, state and a run, in every shape", async (dtype) => {
      const backend = await tfjs({ tf });
      const builder = new GraphBuilder();
      const values = new Map(shapes.map((shape, index) => [`s${index}`, filled(dtype, shape, index)]));
      const types = [...values].map(([name, { shape }]) => [name, { dtype, shape }] as const);
      const inputs = types.map(([name, type]) => [name, builder.input(name, type, "batch")] as const);
      const other = new Map(
        [...values].map(([name, { shape }], index) => [name, filled(dtype, shape, index + 7)]),
      );
      const held = types.map(([name, type]) => [name, builder.input(`old ${name}`, type, "state")] as const);
      const graph = builder.finish(
        new Map([
          ...inputs.map(
            ([name, value]) => [`new ${name}`, builder.emitOne("Identity", [value], {})] as const,
          ),
          ...held.map(([name, value]) => [name, builder.emitOne("Identity", [value], {})] as const),
        ]),
      );
      const state = await backend.createState(Object.fromEntries(values));
      const executable = await backend.compile(graph, {
        state,
        bindings: types.map(([slot]) => ({
          slot,
          input: `old ${slot}`,
          output: `new ${slot}`,
          commit: "always" as const,
        })),
      });
      const handles = await Promise.all(
        [...other].map(async ([name, value]) => [name, await backend.upload(value)] as const),
      );
      const results = await executable.run(Object.fromEntries(handles));
      const after = await state.read();
      for (const [name, value] of values)
        expect(bytesOf(results[name]), `${name}, returned`).toEqual(bytesOf(value));
      for (const [name, value] of other)
        expect(bytesOf(after[name]), `${name}, kept`).toEqual(bytesOf(value));
      for (const [name, handle] of handles) {
        expect(bytesOf(await backend.download(handle))).toEqual(bytesOf(other.get(name)));
      }
      await backend.dispose();
    });
  });
});
