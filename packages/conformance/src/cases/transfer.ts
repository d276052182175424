/** What is fed comes out unchanged, in every dtype and shape, and arrays are never shared. */
import type { DType, HostTensor } from "@mp/core";
import { DTYPES, elementCount, isComputeFloat, isFloat } from "@mp/core/graph";
import type { ConformanceCase } from "../conformance-case.js";
import { expectCode, expectEqual } from "../expectations.js";
import { generated, hostData, specialValues } from "../samples/host-data.js";
import { SHAPES } from "../samples/op-sample.js";
import { allPatterns } from "../samples/rounding.js";
import { f32 } from "../small-graphs.js";
import { unsupportedDType } from "../support.js";
import { expectSame } from "./scripted-case.js";

function transferCase(dtype: DType, behaviour: string, run: ConformanceCase["run"]): ConformanceCase {
  const some = generated(dtype, [2], (index) => index);
  return {
    id: `transfer/${dtype}/${behaviour}`,
    unsupported: (manifest) => unsupportedDType(manifest, dtype),
    refuses: async (backend) => {
      await expectCode("MP_UNSUPPORTED", `upload of ${dtype}`, () => backend.upload(some));
      await expectCode("MP_UNSUPPORTED", `createState of ${dtype}`, () => backend.createState({ some }));
    },
    run,
  };
}

const BIG = 2 ** 53 - 1;
const EDGES: Readonly<Partial<Record<DType, readonly number[]>>> = {
  i32: [0, 1, -1, 2 ** 31 - 1, -(2 ** 31)],
  i64: [0, 1, -1, BIG, -BIG, 2 ** 62, -(2 ** 63)],
  u64: [0, 1, BIG, 2 ** 63],
  u8: [0, 1, 127, 128, 255],
  bool: [0, 1],
};

function samplesOf(dtype: DType): readonly HostTensor[] {
  const shaped = SHAPES.map((shape) => {
    const size = elementCount(shape, "transfer");
    return generated(dtype, shape, (index) =>
      dtype === "bool" ? index % 2 : (index * 5) % Math.min(size, 100),
    );
  });
  const edges = isComputeFloat(dtype) ? specialValues(dtype) : (EDGES[dtype] ?? []);
  const patterns = isFloat(dtype) && dtype !== "f32" ? [allPatterns(dtype)] : [];
  return [...shaped, hostData(dtype, edges), ...patterns];
}

const perDType: readonly ConformanceCase[] = DTYPES.flatMap((dtype) => [
  transferCase(dtype, "handles-keep-every-value", async (backend) => {
    for (const tensor of samplesOf(dtype)) {
      const handle = await backend.upload(tensor);
      expectEqual([handle.dtype, handle.shape], [tensor.dtype, tensor.shape], "the type of a handle");
      expectSame(await backend.download(handle), tensor, `a download of ${dtype}`);
      handle.dispose();
    }
  }),
  transferCase(dtype, "states-keep-every-value", async (backend) => {
    const samples = samplesOf(dtype);
    const state = await backend.createState(
      Object.fromEntries(samples.map((tensor, index) => [`slot ${index}`, tensor])),
    );
    const read = await state.read();
    for (const [index, tensor] of samples.entries()) {
      const slot = `slot ${index}`;
      expectEqual(
        [state.types[slot]?.dtype, state.types[slot]?.shape],
        [tensor.dtype, tensor.shape],
        "a slot's type",
      );
      expectSame(read[slot], tensor, `${slot} of ${dtype}`);
    }
    const reversed = Object.fromEntries(samples.map((tensor, index) => [`slot ${index}`, backwards(tensor)]));
    await state.write(reversed);
    const again = await state.read();
    for (const [slot, tensor] of Object.entries(reversed))
      expectSame(again[slot], tensor, `${slot} of ${dtype}, written`);
    await state.dispose();
  }),
]);

function overwrite(tensor: HostTensor | undefined, by: HostTensor): void {
  tensor?.data.set(by.data as never);
}

/** The elements in the opposite order. */
function backwards({ dtype, shape, data }: HostTensor): HostTensor {
  return { dtype, shape, data: data.slice().reverse() } as HostTensor;
}

const copies: readonly ConformanceCase[] = [
  ...DTYPES.flatMap((dtype) => {
    const given = (...values: readonly number[]): HostTensor => hostData(dtype, values);
    return [
      transferCase(dtype, "uploads-copy", async (backend) => {
        const source = given(1, 0, 1);
        const handle = await backend.upload(source);
        const state = await backend.createState({ a: source });
        overwrite(source, given(0, 1, 0));
        expectSame(await backend.download(handle), given(1, 0, 1), "a handle whose source has changed");
        expectSame((await state.read())["a"], given(1, 0, 1), "a state whose source has changed");
        const update = given(1, 1, 0);
        await state.write({ a: update });
        overwrite(update, given(0, 0, 1));
        expectSame((await state.read())["a"], given(1, 1, 0), "a state whose update has changed");
        handle.dispose();
        await state.dispose();
      }),
      transferCase(dtype, "downloads-copy", async (backend) => {
        const handle = await backend.upload(given(1, 0, 1));
        const state = await backend.createState({ a: given(1, 0, 1) });
        overwrite(await backend.download(handle), given(0, 1, 0));
        overwrite((await state.read())["a"], given(0, 1, 0));
        expectSame(await backend.download(handle), given(1, 0, 1), "a handle whose download has changed");
        expectSame((await state.read())["a"], given(1, 0, 1), "a state whose copy has changed");
        handle.dispose();
        await state.dispose();
      }),
      transferCase(dtype, "views-are-read-where-they-are", async (backend) => {
        const { data } = given(0, 0, 1, 0, 1, 0);
        const part = { dtype, shape: [3], data: data.subarray(2, 5) } as HostTensor;
        const handle = await backend.upload(part);
        expectSame(await backend.download(handle), given(1, 0, 1), "an upload of part of a buffer");
        handle.dispose();
      }),
    ];
  }),
  transferCase("bool", "any-byte-but-0-is-true", async (backend) => {
    const handle = await backend.upload({ dtype: "bool", shape: [3], data: Uint8Array.of(0, 1, 255) });
    expectSame(await backend.download(handle), hostData("bool", [0, 1, 1]), "bytes as bools");
    handle.dispose();
  }),
];

/** Values that are not valid tensors, whatever their TypeScript type. */
const malformed = (): Readonly<Record<string, unknown>> => ({
  "a number": 1,
  nothing: undefined,
  "an array": [1, 2, 3],
  "a typed array": Float32Array.of(1),
  "too few elements": { dtype: "f32", shape: [3], data: Float32Array.of(1, 2) },
  "too many elements": { dtype: "f32", shape: [1], data: Float32Array.of(1, 2) },
  "another array": { dtype: "f32", shape: [2], data: Int32Array.of(1, 2) },
  "halves as numbers": { dtype: "f16", shape: [2], data: Float32Array.of(1, 2) },
  "i64 as numbers": { dtype: "i64", shape: [1], data: Float64Array.of(1) },
  "an unknown dtype": { dtype: "f64", shape: [1], data: Float64Array.of(1) },
  "a negative dimension": { dtype: "f32", shape: [-1, -2], data: Float32Array.of(1, 2) },
  "half a dimension": { dtype: "f32", shape: [0.5, 4], data: Float32Array.of(1, 2) },
});

const CODES = ["MP_INVALID_ARGUMENT", "MP_SHAPE_MISMATCH", "MP_DTYPE_MISMATCH"] as const;

const badInput = transferCase("f32", "what-is-no-tensor-is-refused", async (backend) => {
  for (const [what, value] of Object.entries(malformed())) {
    const bad = value as HostTensor;
    await expectCode(CODES, `upload of ${what}`, () => backend.upload(bad));
    await expectCode(CODES, `createState with ${what}`, () => backend.createState({ good: f32(1), bad }));
    const state = await backend.createState({ a: f32(1, 2) });
    await expectCode(CODES, `state.write of ${what}`, () => state.write({ a: bad }));
    expectSame((await state.read())["a"], f32(1, 2), "a state after a refused write");
    await state.dispose();
  }
});

export const transferCases: readonly ConformanceCase[] = [...perDType, ...copies, badInput];
