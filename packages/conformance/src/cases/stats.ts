/** `stats` counts everything that has been created and not yet disposed of, and the memory that it takes. */
import { byteLength, DTYPES, type HostTensor } from "@mp/graph";
import type { ConformanceCase } from "../conformance-case.js";
import { expectCode, expectEqual, expectThat } from "../expectations.js";
import { generate } from "../host-data.js";
import { countUp } from "../samples/op-sample.js";
import { holdsShortIntegers } from "../short-integers.js";
import { at, buildGraph, doubling, f32, valueType } from "../small-graphs.js";
import { scriptedCase } from "./kinds/scripted-case.js";
import { stepping } from "./kinds/with-state.js";

/** Returns its input x, so that it compiles on every backend that stores the dtype. */
const passing = (dtype: (typeof DTYPES)[number]) =>
  buildGraph({ inputs: { x: valueType(dtype, 2) }, outputs: (_, inputs) => ({ y: at(inputs, "x") }) });

const sizes: readonly ConformanceCase[] = DTYPES.map((dtype) =>
  scriptedCase(`stats/${dtype}/counts-states-and-handles`, passing(dtype), async (backend) => {
    const before = backend.stats();
    const [large, small] = [countUp(dtype, [10_000]), countUp(dtype, [10, 100])];
    const state = await backend.createState({ large, small });
    const one = backend.stats();
    const sizeBytes = (tensor: HostTensor): number =>
      byteLength(tensor) / (dtype === "i64" && holdsShortIntegers(backend.manifest) ? 2 : 1);
    const least = sizeBytes(large) + sizeBytes(small);
    expectEqual(one.live - before.live, 1, "live things that a state is");
    expectThat(
      one.bytes - before.bytes >= least,
      `a state of ${least} bytes counts as ${one.bytes - before.bytes}`,
    );
    const handle = await backend.upload(large);
    const two = backend.stats();
    expectEqual(two.live - one.live, 1, "live things that a handle is");
    expectThat(
      two.bytes - one.bytes >= sizeBytes(large),
      `a handle of ${sizeBytes(large)} bytes counts as ${two.bytes - one.bytes}`,
    );
    await state.write({ large: countUp(dtype, [10_000], 1) });
    await state.read();
    expectEqual(backend.stats(), two, "stats after a write and a read");
    await state.dispose();
    expectEqual(backend.stats().live - before.live, 1, "live things after the state's end");
    expectThat(two.bytes - backend.stats().bytes >= least, "the state's bytes still count after its end");
    handle.dispose();
    expectEqual(backend.stats(), before, "stats after all were disposed");
  }),
);

const KINDS = ["handle", "state", "executable", "executable of a state"] as const;

/** Creates and disposes of objects in random order; at any time, count and bytes must match the live objects. */
const anyOrder = scriptedCase(
  "stats/any-order/counts-what-is-there",
  [doubling, stepping().graph],
  async (backend, { random, seed }) => {
    const before = backend.stats();
    const base = await backend.createState(stepping().values);
    const things: { readonly kind: string; readonly bytes: number; readonly end: () => unknown }[] = [];
    const said: string[] = [];
    const heldBytes = (): number => backend.stats().bytes;
    const baseBytes = heldBytes();
    const { bindings } = stepping();
    const make = async (kind: (typeof KINDS)[number]): Promise<{ dispose(): unknown }> => {
      const data = generate("f32", [1000 * random.integer(1, 9)], () => 1);
      if (kind === "handle") return backend.upload(data);
      if (kind === "state") return backend.createState({ a: data });
      if (kind === "executable") return backend.compile(doubling);
      return backend.compile(stepping().graph, { state: base, bindings, applied: "applied" });
    };
    for (let step = 0; step < 60; step++) {
      const isEnd = things.length > 0 && random.integer(0, 2) === 0;
      if (isEnd) {
        const [gone] = things.splice(random.integer(0, things.length - 1), 1);
        said.push(`end of a ${gone?.kind}`);
        await gone?.end();
      } else {
        const kind = KINDS[random.integer(0, KINDS.length - 1)] as (typeof KINDS)[number];
        said.push(kind);
        const bytes = heldBytes();
        const made = await make(kind);
        things.push({ kind, bytes: heldBytes() - bytes, end: () => made.dispose() });
      }
      const live = backend.stats().live - before.live - 1;
      expectEqual(live, things.length, `live things after ${said.join(", ")}; seed ${seed}`);
      const sum = things.reduce((total, { bytes }) => total + bytes, baseBytes);
      expectEqual(heldBytes(), sum, `bytes of them after ${said.join(", ")}; seed ${seed}`);
    }
    for (const { end } of things) await end();
    await base.dispose();
    expectEqual(backend.stats(), before, "stats after all were disposed");
  },
);

const refused = scriptedCase("stats/refusals/count-as-nothing", doubling, async (backend) => {
  const before = backend.stats();
  const bad = { dtype: "f32", shape: [3], data: Float32Array.of(1) } as const;
  await expectCode("MP_SHAPE_MISMATCH", "upload of too few elements", () => backend.upload(bad));
  await expectCode("MP_SHAPE_MISMATCH", "createState with too few elements", () =>
    backend.createState({ good: f32(1, 2), bad }),
  );
  expectEqual(backend.stats(), before, "stats after refusals");
});

export const statsCases: readonly ConformanceCase[] = [...sizes, anyOrder, refused];
