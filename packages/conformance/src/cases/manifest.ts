/** The manifest: complete, true as far as can be checked without knowing the engine, and within the ceilings. */

import {
  type Backend,
  type BackendManifest,
  type ComputeDType,
  DTYPES,
  type DType,
  type Graph,
  type Op,
  opDTypes,
} from "@mp/graph";
import { unsupportedReason } from "@mp/graph/backend";
import { accumulatorOf } from "@mp/graph/internal";
import { type ConformanceCase, universalCase } from "../conformance-case.js";
import { expectCode, expectEqual, expectThat, fail, show } from "../expectations.js";
import { generate, hostData } from "../host-data.js";
import { at, buildGraph, doubling, f32, valueType } from "../small-graphs.js";
import { ceilingOf } from "../tolerance/ceiling-table.js";
import { profileCase } from "./kinds/profile-case.js";
import { scriptedCase, withExecutable } from "./kinds/scripted-case.js";

const OPS = Object.keys(opDTypes) as readonly Op[];
const HALVES_AND_F32: readonly ComputeDType[] = ["f32", "f16", "bf16"];

function aboutManifest(behaviour: string, check: (manifest: BackendManifest) => void): ConformanceCase {
  return universalCase(`manifest/${behaviour}`, ({ manifest }) => check(manifest));
}

function oneOf(what: string, value: unknown, allowed: readonly unknown[]): void {
  expectThat(
    allowed.includes(value),
    `${what} is ${show(value)}, want one of ${allowed.map(show).join(", ")}`,
  );
}

const supports = (manifest: BackendManifest, dtype: DType): boolean =>
  unsupportedReason(manifest.dtypes[dtype]) === undefined;

const declared: readonly ConformanceCase[] = [
  aboutManifest("declaration/is-plain-data", (manifest) => {
    expectEqual(JSON.parse(JSON.stringify(manifest)), manifest, "the manifest after a turn through JSON");
  }),
  universalCase("manifest/declaration/has-one-version", ({ specVersion, manifest, name }) => {
    expectEqual(specVersion, "v1", "backend.specVersion");
    expectEqual(manifest.specVersion, "v1", "manifest.specVersion");
    expectThat(typeof name === "string" && name !== "", "the backend has no name");
    const { engine, device } = manifest;
    expectThat(
      engine.name !== "" && engine.version !== "",
      "the manifest does not say which engine it speaks of",
    );
    oneOf("manifest.device", device, ["cpu", "cuda", "webgpu", "other"]);
  }),
  aboutManifest("declaration/answers-for-every-dtype-and-op", (manifest) => {
    expectEqual(Object.keys(manifest.dtypes).sort(), [...DTYPES].sort(), "the manifest's dtypes");
    expectEqual(Object.keys(manifest.ops).sort(), [...OPS].sort(), "the manifest's ops");
    const { accumulate, rounding, subnormals, overflow } = manifest;
    const claims = { "accumulate.default": accumulate.default, rounding, subnormals, overflow };
    for (const [key, claim] of Object.entries(claims)) {
      expectEqual(
        Object.keys(claim ?? {}).sort(),
        [...HALVES_AND_F32].sort(),
        `the dtypes of manifest.${key}`,
      );
    }
  }),
  aboutManifest("declaration/gives-reasons", (manifest) => {
    const entries = [
      ...Object.entries(manifest.dtypes),
      ...Object.entries(manifest.ops),
      ...(["determinism", "profile", "memory", "nonFiniteConvolution", "adopt"] as const).map(
        (key) => [key, manifest[key]] as const,
      ),
    ];
    for (const [name, support] of entries) {
      const reason = unsupportedReason(support);
      expectThat(
        reason === undefined || reason.trim().length > 3,
        `${name} is unsupported for no reason: "${reason}"`,
      );
    }
  }),
  aboutManifest("declaration/uses-the-words-there-are", (manifest) => {
    for (const dtype of HALVES_AND_F32) {
      oneOf(`accumulate.default.${dtype}`, manifest.accumulate.default[dtype], HALVES_AND_F32);
      oneOf(`rounding.${dtype}`, manifest.rounding[dtype], ["nearest-even", "toward-zero", "unspecified"]);
      oneOf(`subnormals.${dtype}`, manifest.subnormals[dtype], ["preserve", "flush"]);
      oneOf(`overflow.${dtype}`, manifest.overflow[dtype], ["infinity", "saturate"]);
    }
    oneOf("accumulate.f8", manifest.accumulate.f8, [undefined, "split-f32", "fewer-bits"]);
    oneOf("eventLoop", manifest.eventLoop, ["free", "blocked-during-step"]);
    for (const op of OPS)
      expectEqual(accumulatorOf(manifest, op, "f32"), "f32", `what ${op} in f32 accumulates in`);
  }),
  aboutManifest("declaration/names-the-operators-that-add-up-otherwise", ({ accumulate }) => {
    for (const [op, own] of Object.entries(accumulate.ops ?? {})) {
      expectThat(OPS.includes(op as Op), `accumulate.ops has ${op}, which is no op`);
      for (const [dtype, inside] of Object.entries(own ?? {})) {
        oneOf(`a dtype of accumulate.ops.${op}`, dtype, HALVES_AND_F32);
        oneOf(`accumulate.ops.${op}.${dtype}`, inside, HALVES_AND_F32);
      }
    }
  }),
  aboutManifest("dtypes/are-stored-in-dtypes", (manifest) => {
    for (const dtype of DTYPES) {
      const support = manifest.dtypes[dtype];
      if (!("storage" in support)) continue;
      oneOf(`the storage of ${dtype}`, support.storage, DTYPES);
      oneOf(`the compute of ${dtype}`, support.compute, ["native", "emulated"]);
      // A dtype that is stored as another dtype is computed as another dtype.
      const honest = support.compute === "emulated" || support.storage === dtype;
      expectThat(honest, `${dtype} is called native but stored as ${support.storage}`);
    }
    expectThat(supports(manifest, "f32"), "f32 is unsupported, and nothing can be trained without it");
  }),
  aboutManifest("ops/list-dtypes-that-exist", (manifest) => {
    for (const op of OPS) {
      const support = manifest.ops[op];
      if (unsupportedReason(support) !== undefined) continue;
      const dtypes = support as readonly DType[];
      expectThat(
        Array.isArray(dtypes) && dtypes.length > 0,
        `${op} is supported in no dtype, which needs a reason`,
      );
      for (const dtype of dtypes) {
        expectThat(opDTypes[op].includes(dtype), `${op} does not exist in ${dtype}`);
        expectThat(supports(manifest, dtype), `${op} is supported in ${dtype}, which is unsupported`);
      }
    }
  }),
  aboutManifest("tolerance/stays-under-the-ceilings", (manifest) => {
    for (const op of OPS) {
      const { f32: a, f16: b, bf16: c } = manifest.tolerance[op] ?? manifest.tolerance.default;
      for (const [dtype, ulp] of [
        ["f32", a],
        ["f16", b],
        ["bf16", c],
      ] as const) {
        expectThat(Number.isFinite(ulp) && ulp >= 0, `the tolerance of ${op} in ${dtype} is ${ulp}`);
        // The default may be wider than an exact op needs; a tolerance for a named op may not.
        const named = manifest.tolerance[op] !== undefined;
        const ceiling = named ? ceilingOf(op)[dtype] : widest[dtype];
        expectThat(ulp <= ceiling, `${op} in ${dtype} is given ${ulp} ulp, the ceiling is ${ceiling}`);
      }
    }
    const stray = Object.keys(manifest.tolerance).find((key) => key !== "default" && !(key in opDTypes));
    expectThat(stray === undefined, `there is a tolerance for ${stray}, which is no op`);
  }),
  universalCase("manifest/declaration/stays-what-it-is", async (backend, { create }) => {
    const before = JSON.stringify(backend.manifest);
    const another = await create();
    expectEqual(JSON.stringify(another.manifest), before, "the manifest of a second backend");
    expectEqual(JSON.stringify(backend.manifest), before, "the manifest a moment later");
  }),
];

/**
 * Ceilings for the default tolerance, which applies to all ops that a manifest does not name. Each op is still tested
 * against its own ceiling.
 */
const widest: Readonly<Record<ComputeDType, number>> = Object.fromEntries(
  HALVES_AND_F32.map((dtype) => [dtype, Math.max(...OPS.map((op) => ceilingOf(op)[dtype]))]),
) as Record<ComputeDType, number>;

const unsupportedTransfers: readonly ConformanceCase[] = DTYPES.map((dtype) =>
  universalCase(`manifest/${dtype}/is-refused-when-unsupported`, async (backend) => {
    if (supports(backend.manifest, dtype)) return;
    const data = generate(dtype, [2], (index) => index);
    await expectCode("MP_UNSUPPORTED", `upload of ${dtype}`, () => backend.upload(data));
    await expectCode("MP_UNSUPPORTED", `createState with ${dtype}`, () => backend.createState({ a: data }));
  }),
);

/** y = x + x in the dtype. */
const doublingIn = (dtype: ComputeDType): Graph =>
  buildGraph({
    inputs: { x: valueType(dtype, 3) },
    outputs: (builder, inputs) => ({ y: builder.emitOne("Add", [at(inputs, "x"), at(inputs, "x")], {}) }),
  });

const warnings: readonly ConformanceCase[] = HALVES_AND_F32.map((dtype) => {
  const graph = doublingIn(dtype);
  return scriptedCase(`manifest/${dtype}/emulation-is-a-warning`, graph, async (backend) => {
    const support = backend.manifest.dtypes[dtype];
    await withExecutable(backend, graph, async ({ warnings: given }) => {
      const emulated = given.filter(({ type, message }) => type === "emulated" && message.includes(dtype));
      const says = "compute" in support ? support.compute : "native";
      if (says === "emulated") {
        expectThat(emulated.length > 0, `${dtype} is emulated, and no warning of type "emulated" names it`);
      } else {
        expectEqual(emulated, [], `warnings that ${dtype}, called native, is emulated`);
      }
      expectEqual(
        new Set(given.map(({ message }) => message)).size,
        given.length,
        "the count of different warnings",
      );
    });
  });
});

/** Warnings must be data, since a program cannot read what a library prints. */
const silent: ConformanceCase = scriptedCase(
  "manifest/warnings/are-not-printed",
  doublingIn("f16"),
  async (backend, { create }) => {
    const printed: string[] = [];
    const verbs = ["log", "info", "warn", "error", "debug"] as const;
    const before = verbs.map((verb) => console[verb]);
    for (const verb of verbs)
      console[verb] = (...words: unknown[]) => void printed.push(words.map(String).join(" "));
    try {
      const another = await create();
      await withExecutable(another, doublingIn("f16"), (executable) =>
        executable.run({ x: hostData("f16", [1, 2, 3]) }),
      );
      await expectCode("MP_INVALID_ARGUMENT", "run without inputs", () =>
        withExecutable(backend, doublingIn("f16"), (executable) => executable.run({})),
      );
    } finally {
      verbs.forEach((verb, index) => {
        console[verb] = before[index] as (typeof console)["log"];
      });
    }
    expectEqual(printed, [], "what the backend printed");
  },
);

const optionalVerbs: readonly ConformanceCase[] = [
  universalCase("manifest/adopt/is-there-as-declared", (backend) => {
    const { adopt = { unsupported: "it is left out" } } = backend.manifest;
    expectEqual(
      backend.adopt !== undefined,
      unsupportedReason(adopt) === undefined,
      "whether backend.adopt is there",
    );
    for (const value of [new Date(0), new Map(), new (class Thing {})(), new URL("file:///x"), /x/]) {
      expectEqual(backend.adopt?.(value), undefined, `what adopt makes of a ${value.constructor.name}`);
    }
  }),
  scriptedCase("manifest/profile/is-there-as-declared", doubling, async (backend) => {
    await withExecutable(backend, doubling, async (executable) => {
      const reason = unsupportedReason(backend.manifest.profile);
      expectEqual(
        executable.profile !== undefined,
        reason === undefined,
        "whether executable.profile is there",
      );
      const rows = await executable.profile?.({ x: f32(1, 2, 3) });
      if (rows === undefined) return;
      expectThat(
        rows.some(({ op, node }) => op === "Add" && node === "Add"),
        `the profile has no row of the node "Add": ${show(rows)}`,
      );
      for (const { microseconds, calls } of rows) {
        expectThat(microseconds >= 0 && calls >= 1, `a profile row has ${calls} calls in ${microseconds} µs`);
      }
    });
  }),
  scriptedCase("manifest/memory/is-there-as-declared", doubling, async (backend) => {
    await withExecutable(backend, doubling, async (executable) => {
      const reason = unsupportedReason(backend.manifest.memory);
      expectEqual(
        executable.memory !== undefined,
        reason === undefined,
        "whether executable.memory is there",
      );
      await executable.run({ x: f32(1, 2, 3) });
      const report = executable.memory?.();
      if (report !== undefined) expectThat(report.peakBytes > 0, `a peak of ${report.peakBytes} bytes`);
    });
  }),
  scriptedCase("manifest/memory/covers-the-state-and-what-is-alive-at-once", wide(1), async (backend) => {
    // The state has the size of x; another result is alive at the same time.
    for (const size of [64, 512]) {
      const state = await backend.createState({ x: generate("f32", [size, size], () => 1) });
      const bindings = [{ slot: "x", input: "x" }];
      await withExecutable(
        backend,
        wide(size),
        async (executable) => {
          await executable.run({});
          const least = 2 * 4 * size * size;
          const { peakBytes = least } = executable.memory?.() ?? {};
          const isPossible = Number.isSafeInteger(peakBytes) && peakBytes >= least && peakBytes < 2 ** 42;
          expectThat(isPossible, `a peak of ${peakBytes} bytes, where ${least} are held at once`);
        },
        { state, bindings },
      );
      await state.dispose();
    }
  }),
];

/** Returns x · x, so that x and the result are both alive at the end. */
function wide(size: number): Graph {
  return buildGraph({
    inputs: { x: valueType("f32", size, size) },
    outputs: (builder, inputs) => ({ y: builder.emitOne("Mul", [at(inputs, "x"), at(inputs, "x")], {}) }),
  });
}

/** A chain of products that takes an engine about 2·depth·size³ operations. */
function work(depth: number, size: number): Graph {
  return buildGraph({
    inputs: { x: valueType("f32", size, size) },
    outputs: (builder, inputs) => {
      let y = at(inputs, "x");
      for (let step = 0; step < depth; step++) y = builder.emitOne("MatMul", [y, at(inputs, "x")], {});
      return { y };
    },
  });
}

const SIZE = 128;
/** A step that takes as long must let timers fire, even if other processes often stop this one meanwhile. */
const BLOCKED_MS = 600;
const LEAST_PROFILED_MS = 10;
/** The identity matrix, whose products stay finite. */
const identity = () => generate("f32", [SIZE, SIZE], (index) => (index % (SIZE + 1) === 0 ? 1 : 0));

/** Checks that timers fire during a step, which is made longer until they do. */
async function expectFree(backend: Backend): Promise<void> {
  const x = identity();
  for (let depth = 8; ; depth *= 2) {
    const graph = work(depth, SIZE);
    const [ticks, elapsed] = await withExecutable(backend, graph, async (executable) => {
      let count = 0;
      const started = performance.now();
      const timer = setInterval(() => {
        count++;
      }, 2);
      try {
        await executable.run({ x });
      } finally {
        clearInterval(timer);
      }
      return [count, performance.now() - started] as const;
    });
    if (ticks >= 3) return;
    if (elapsed > BLOCKED_MS)
      fail(
        `the event loop is called free, and in ${elapsed.toFixed(0)} ms a 2 ms timer fired ${ticks} times`,
      );
  }
}

/** The nodes' times must add up to at most the profiled run, and to at least 1/50 of the quickest other run. */
const profiled = profileCase(
  "manifest/profile/adds-up-to-the-time-of-the-run",
  work(1, 2),
  async (backend) => {
    const x = identity();
    for (let depth = 8; ; depth *= 2) {
      const isDone = await withExecutable(backend, work(depth, SIZE), async (executable) => {
        const time = async <T>(
          call: () => Promise<T> | undefined,
        ): Promise<readonly [T | undefined, number]> => {
          const started = performance.now();
          return [await call(), performance.now() - started];
        };
        let quickest = Number.POSITIVE_INFINITY;
        for (let run = 0; run < 4; run++)
          quickest = Math.min(quickest, (await time(() => executable.run({ x })))[1]);
        if (quickest < LEAST_PROFILED_MS) return false;
        await executable.profile?.({ x }); // What one profile counted is no part of the next.
        const [rows = [], elapsed] = await time(() => executable.profile?.({ x }));
        const sumMs = rows.reduce((sum, { microseconds }) => sum + microseconds, 0) / 1000;
        expectThat(
          sumMs <= elapsed && sumMs >= quickest / 50,
          `a profiled run of ${elapsed} ms, where others take ${quickest}, has rows of ${sumMs} ms`,
        );
        const products = rows.filter(({ op }) => op === "MatMul");
        const names = new Set(products.map(({ node }) => node));
        expectThat(names.size === products.length, `two rows of products have one name: ${show(products)}`);
        const calls = products.reduce((sum, row) => sum + row.calls, 0);
        expectThat(calls <= depth, `a profiled run of ${depth} products has ${calls} calls of MatMul`);
        return true;
      });
      if (isDone) return;
    }
  },
);

const eventLoop = scriptedCase("manifest/event-loop/is-as-free-as-declared", work(1, 2), async (backend) => {
  if (backend.manifest.eventLoop === "free") await expectFree(backend);
});

export const manifestCases: readonly ConformanceCase[] = [
  ...declared,
  ...unsupportedTransfers,
  ...warnings,
  silent,
  ...optionalVerbs,
  profiled,
  eventLoop,
];
