/** Data comes out as it was fed, in every dtype and shape, and arrays are never shared. */
import {
  type Backend,
  DTYPES,
  type DType,
  elementCount,
  type HostTensor,
  isComputeFloat,
  isFloat,
  type Shape,
  type State,
} from "@mp/graph";
import type { ConformanceCase } from "../conformance-case.js";
import { expectCode, expectEqual } from "../expectations.js";
import { fresh } from "../fresh.js";
import { embed, overwrite } from "../held-data.js";
import { backwards, generate, hostData, specialValues } from "../host-data.js";
import { randomBits } from "../random-bits-of.js";
import { randomSource } from "../random-source.js";
import { SHAPES } from "../samples/op-sample.js";
import { allPatterns } from "../samples/rounding.js";
import { holdable } from "../short-integers.js";
import { f32 } from "../small-graphs.js";
import { missingDType } from "../support.js";
import { expectSame } from "./kinds/scripted-case.js";

function transferCase(dtype: DType, behaviour: string, run: ConformanceCase["run"]): ConformanceCase {
  const some = generate(dtype, [2], (index) => index);
  return {
    id: `transfer/${dtype}/${behaviour}`,
    unsupported: (manifest) => missingDType(manifest, dtype),
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

function transferSamples(dtype: DType, { manifest }: Backend): readonly HostTensor[] {
  const shaped = SHAPES.map((shape) => {
    const size = elementCount(shape, "transfer");
    return generate(dtype, shape, (index) =>
      dtype === "bool" ? index % 2 : (index * 5) % Math.min(size, 100),
    );
  });
  const edges = isComputeFloat(dtype) ? specialValues(dtype) : (EDGES[dtype] ?? []);
  const patterns = isFloat(dtype) && dtype !== "f32" ? [allPatterns(dtype)] : [];
  return [...shaped, holdable(hostData(dtype, edges), manifest), ...patterns];
}

const perDType: readonly ConformanceCase[] = DTYPES.flatMap((dtype) => [
  transferCase(dtype, "handles-keep-every-value", async (backend) => {
    for (const tensor of transferSamples(dtype, backend)) {
      const handle = await backend.upload(tensor);
      expectEqual([handle.dtype, handle.shape], [tensor.dtype, tensor.shape], "the type of a handle");
      expectSame(await backend.download(handle), tensor, `a download of ${dtype}`);
      handle.dispose();
    }
  }),
  transferCase(dtype, "states-keep-every-value", async (backend) => {
    const samples = transferSamples(dtype, backend);
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

/** A scalar, short lists, and some above the size at which an engine may keep an array instead of copying it. */
const COPIED: readonly Shape[] = [[], [3], [13], [1_031], [20_011]];
/** Numbers of elements before a view: odd ones, and the alignments of rows, cache lines and pages. */
const LEADS = [1, 5, 16, 64, 1_024];

interface Entry {
  readonly what: string;
  /** Passes the tensor to the backend; returns functions that read the value held and release it. */
  readonly give: (backend: Backend, tensor: HostTensor) => Promise<HeldArray>;
}

interface HeldArray {
  readonly held: () => Promise<HostTensor | undefined>;
  readonly end: () => unknown;
}

const inState = (state: State): HeldArray => ({
  held: async () => (await state.read())["a"],
  end: () => state.dispose(),
});

/** The calls that take a caller's array and keep its values. */
const ENTRIES: readonly Entry[] = [
  {
    what: "an upload",
    give: async (backend, tensor) => {
      const handle = await backend.upload(tensor);
      return { held: () => backend.download(handle), end: () => handle.dispose() };
    },
  },
  { what: "a new state", give: async (backend, tensor) => inState(await backend.createState({ a: tensor })) },
  {
    what: "a new constant state",
    give: async (backend, tensor) => inState(await backend.createState({ a: tensor }, { constant: true })),
  },
  {
    what: "a write",
    give: async (backend, tensor) => {
      const state = await backend.createState({
        a: holdable(
          randomBits({ random: randomSource(2, "before"), dtype: tensor.dtype }, tensor.shape),
          backend.manifest,
        ),
      });
      await state.write({ a: tensor });
      return inState(state);
    },
  },
];

function copyCase(
  dtype: DType,
  behaviour: string,
  check: (given: HeldArray, tensor: HostTensor, want: HostTensor, what: string) => Promise<void>,
): ConformanceCase {
  return transferCase(dtype, behaviour, async (backend, { random }) => {
    for (const { what, give } of ENTRIES)
      for (const shape of COPIED) {
        const want = holdable(randomBits({ random, dtype }, shape), backend.manifest);
        const tensor = fresh(want);
        const given = await give(backend, tensor);
        await check(given, tensor, want, `${what} of shape [${shape}]`);
        await given.end();
      }
  });
}

const copies: readonly ConformanceCase[] = [
  ...DTYPES.flatMap((dtype) => [
    copyCase(dtype, "uploads-copy", async ({ held }, tensor, want, what) => {
      overwrite(tensor);
      expectSame(await held(), want, `${what} whose source has changed`);
    }),
    copyCase(dtype, "downloads-copy", async ({ held }, tensor, want, what) => {
      const first = await held();
      const second = await held();
      overwrite(first);
      expectSame(second, want, `${what}, read twice, after the first was written to,`);
      expectSame(await held(), want, `${what} whose copy has changed`);
      expectSame(tensor, want, `the source of ${what} whose copy has changed`);
    }),
    transferCase(dtype, "views-are-read-where-they-are", async (backend, { random }) => {
      for (const { what, give } of ENTRIES)
        for (const shape of COPIED)
          for (const lead of LEADS) {
            const want = holdable(randomBits({ random, dtype }, shape), backend.manifest);
            const { tensor, expectSurroundings } = embed(want, lead, 3);
            const given = await give(backend, tensor);
            const where = `${what} of shape [${shape}] after ${lead} others of a buffer`;
            expectSame(await given.held(), want, where);
            expectSurroundings(where);
            await given.end();
          }
    }),
  ]),
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
