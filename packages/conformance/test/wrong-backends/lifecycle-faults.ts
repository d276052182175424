import {
  type Backend,
  type BackendManifest,
  DTYPES,
  type Executable,
  type HostTensor,
  tensor,
} from "@mp/graph";
import type { Kernel } from "@mp/graph/backend";
import { reference } from "@mp/graph/reference";
import { delegate } from "../../src/delegate.js";
import { evaluateNode, oracleWithKernels } from "./kernels.js";
import { executableOf } from "./wrapped.js";
import type { WrongBackend } from "./wrong-backend.js";

/** The oracle with modified executables. */
async function withExecutables(
  change: (executable: Executable, backend: Backend) => Partial<Executable>,
): Promise<Backend> {
  const backend = await reference();
  return delegate(backend, {
    compile: async (graph, options) => {
      const executable = await backend.compile(graph, options);
      return { ...executableOf(executable), ...change(executable, backend) };
    },
  });
}

async function claiming(claims: (manifest: BackendManifest) => Partial<BackendManifest>): Promise<Backend> {
  const backend = await reference();
  return delegate(backend, { manifest: { ...backend.manifest, ...claims(backend.manifest) } });
}

/** Writes the result over the operand instead of into a copy, and returns the operand. */
const inItsOperandsPlace: Kernel<unknown, HostTensor> = ([x]) => {
  if (x === undefined) return [];
  const [result] = evaluateNode("Relu", [x.data], {});
  x.data.data.set((result?.data ?? []) as never);
  return [x.data];
};

const junk = (): HostTensor => tensor(new Float32Array(8));

/** Uploads of tensors for which `isShared` is true keep the caller's array, and downloads return it. */
async function sharingUploads(isShared: (given: HostTensor) => boolean): Promise<Backend> {
  const backend = await oracleWithKernels({});
  const shared = new WeakMap<object, HostTensor>();
  return delegate(backend, {
    upload: async (given) => {
      const handle = await backend.upload(given);
      if (isShared(given)) shared.set(handle, given);
      return handle;
    },
    download: async (handle) => {
      const copy = await backend.download(handle);
      return shared.get(handle) ?? copy;
    },
  });
}

export const lifecycleFaults: readonly WrongBackend[] = [
  {
    fault: "executables are never freed",
    factory: () => withExecutables(() => ({ dispose: async () => undefined })),
    axes: ["lifecycle", "op", "finite-check"],
    named: [
      "lifecycle/run/gives-copies",
      "op/Add-f32/values",
      "finite-check/f32/sees-every-position",
      "lifecycle/executable/use-after-dispose",
    ],
    consequences: [/./],
    message: /^leak: |dispose|stats after/,
  },
  {
    fault: "a failed run leaks",
    factory: () =>
      withExecutables((executable, backend) => ({
        run: async (inputs) => {
          try {
            return await executable.run(inputs);
          } catch (error) {
            await backend.upload(junk());
            throw error;
          }
        },
      })),
    axes: ["lifecycle", "leak", "state", "factory", "op"],
    named: ["leak/runs/failed-and-profiled", "lifecycle/run/refuses-inputs-that-do-not-fit"],
    consequences: [/^op\/(Div|Mod)-\w+\/by-zero-ends-in-a-code$/, /^(lifecycle|state|factory|leak)\//],
    message: /^leak: |stats after/,
  },
  {
    fault: "every tenth step leaks",
    factory: async () => {
      let steps = 0;
      return withExecutables((executable, backend) => ({
        run: async (inputs) => {
          if (++steps % 10 === 0) await backend.upload(junk());
          return executable.run(inputs);
        },
      }));
    },
    axes: ["leak", "manifest"],
    named: ["leak/training/200-steps", "leak/runs/failed-and-profiled"],
    consequences: [/^leak\//, /^manifest\//],
    message: /^leak: |stats after|live things/,
  },
  {
    fault: "results are written to again",
    factory: () => {
      const buffers = new Map<string, HostTensor>();
      return withExecutables((executable) => ({
        run: async (inputs) => {
          const results = await executable.run(inputs);
          return Object.fromEntries(
            Object.entries(results).map(([name, result]) => {
              const key = `${name} ${result.dtype} ${result.shape.join()}`;
              const buffer = buffers.get(key) ?? result;
              buffers.set(key, buffer);
              if (buffer !== result) buffer.data.set(result.data as never);
              return [name, buffer];
            }),
          );
        },
      }));
    },
    axes: ["lifecycle", "transfer", "factory"],
    named: ["lifecycle/run/gives-copies", "lifecycle/run/many-at-once-keep-apart"],
  },
  {
    fault: "a kernel writes its result over its operand",
    factory: () => oracleWithKernels({ Relu: inItsOperandsPlace }),
    axes: ["op"],
    among: /Relu/,
    named: ["op/Relu-f32/values"],
  },
  {
    fault: "uploads of i64 keep the caller's array",
    factory: () => sharingUploads((given) => given.dtype === "i64"),
    axes: ["transfer"],
    named: ["transfer/i64/uploads-copy", "transfer/i64/downloads-copy"],
  },
  {
    fault: "uploads of scalars keep the caller's array",
    factory: () => sharingUploads(({ shape }) => shape.length === 0),
    axes: ["transfer"],
    named: ["transfer/f32/uploads-copy", "transfer/f32/downloads-copy"],
    consequences: [/^transfer\/\w+\/(up|down)loads-copy$/],
  },
  {
    fault: "uploads keep the caller's array",
    factory: () => sharingUploads(() => true),
    axes: ["transfer", "lifecycle"],
    named: ["transfer/f32/uploads-copy", "transfer/f32/downloads-copy"],
    consequences: [/^transfer\/\w+\/(up|down)loads-copy$/, /^transfer\/bool\/any-byte/],
  },
  {
    fault: "nothing is refused after dispose",
    factory: async () => {
      const backend = await reference();
      return delegate(backend, {
        compile: async (graph, options) => {
          const executable = await backend.compile(graph, options);
          let spare: Executable | undefined;
          return {
            warnings: executable.warnings,
            run: async (inputs) => (spare ?? executable).run(inputs),
            profile: (inputs) => executable.profile?.(inputs) ?? Promise.resolve([]),
            memory: () => executable.memory?.() ?? { peakBytes: 0 },
            dispose: async () => {
              await executable.dispose();
              spare ??= await (await reference()).compile(graph);
            },
          };
        },
      });
    },
    axes: ["lifecycle", "factory"],
    named: ["lifecycle/executable/use-after-dispose"],
    consequences: [/^(lifecycle|factory)\/.*dispose/],
  },
  {
    fault: "the manifest claims an op that is not there",
    factory: () =>
      oracleWithKernels({
        Erf: () => {
          throw new Error("no such kernel");
        },
      }),
    axes: ["manifest", "op", "gradient"],
    named: ["op/Erf-f32/values", "op/Erf-f16/values", "op/Erf-bf16/values"],
    consequences: [/^op\/Erf-/, /^gradient\/(Erf|Gelu)-/],
    message: /no such kernel/,
  },
  {
    fault: "the manifest denies an op that is there",
    factory: () => claiming(({ ops }) => ({ ops: { ...ops, Sin: { unsupported: "says who" } } })),
    axes: ["manifest", "op", "gradient"],
    named: ["op/Sin-f32/values", "op/Sin-f16/values"],
    consequences: [/^op\/Sin-/, /^gradient\/(Sin|Cos|Scan)-/],
    message: /succeeds/,
  },
  {
    fault: "the manifest denies a dtype that is there",
    factory: () =>
      claiming(({ dtypes, ops }) => ({
        dtypes: { ...dtypes, f8e4m3: { unsupported: "says who" } },
        ops: Object.fromEntries(
          Object.entries(ops).map(([op, list]) => [
            op,
            Array.isArray(list) ? list.filter((dtype) => dtype !== "f8e4m3") : list,
          ]),
        ) as BackendManifest["ops"],
      })),
    axes: ["manifest", "transfer"],
    named: ["manifest/f8e4m3/is-refused-when-unsupported", "transfer/f8e4m3/handles-keep-every-value"],
    consequences: [/^transfer\/f8e4m3\//],
  },
  {
    fault: "the manifest calls emulation native",
    factory: () =>
      claiming(({ dtypes }) => ({ dtypes: { ...dtypes, f16: { storage: "f32", compute: "native" } } })),
    axes: ["manifest"],
    named: ["manifest/dtypes/are-stored-in-dtypes", "manifest/f16/emulation-is-a-warning"],
  },
  {
    fault: "the manifest calls a blocked event loop free",
    factory: () => claiming(() => ({ eventLoop: "free" })),
    axes: ["manifest"],
    named: ["manifest/event-loop/is-as-free-as-declared"],
  },
  {
    fault: "the manifest says that tensors are adopted, and none are",
    factory: () => claiming(() => ({ adopt: true })),
    axes: ["manifest"],
    named: ["manifest/adopt/is-there-as-declared"],
  },
  {
    fault: "everything is adopted",
    factory: async () => delegate(await claiming(() => ({ adopt: true })), { adopt: junk }),
    axes: ["manifest"],
    named: ["manifest/adopt/is-there-as-declared"],
    message: /what adopt makes of a Date/,
  },
  {
    fault: "the manifest asks for a billion ulp",
    factory: () =>
      claiming(({ tolerance }) => ({
        tolerance: { ...tolerance, MatMul: { f32: 1e9, f16: 1e9, bf16: 1e9 } },
      })),
    axes: ["manifest"],
    named: ["manifest/tolerance/stays-under-the-ceilings"],
  },
  {
    fault: "the manifest tells of the sums of what is no operator",
    factory: () =>
      claiming(({ accumulate }) => ({
        accumulate: { ...accumulate, ops: { Matmul: { f16: "f16" } } } as BackendManifest["accumulate"],
      })),
    axes: ["manifest"],
    named: ["manifest/declaration/names-the-operators-that-add-up-otherwise"],
  },
  {
    fault: "the manifest leaves things out",
    factory: () =>
      claiming(({ ops, dtypes }) => ({
        ops: Object.fromEntries(
          Object.entries(ops).filter(([op]) => op !== "Tanh"),
        ) as unknown as BackendManifest["ops"],
        dtypes: { ...dtypes, [DTYPES[0]]: dtypes.f32, u8: { unsupported: "" } },
        memory: { unsupported: "no one asked" },
      })),
    axes: ["manifest"],
    named: [
      "manifest/declaration/answers-for-every-dtype-and-op",
      "manifest/declaration/gives-reasons",
      "manifest/memory/is-there-as-declared",
    ],
    consequences: [/^manifest\//],
  },
  {
    fault: "runs give other bits each time",
    factory: async () => {
      let runs = 0;
      return withExecutables((executable) => ({
        run: async (inputs) => {
          const results = await executable.run(inputs);
          runs++;
          return Object.fromEntries(
            Object.entries(results).map(([name, result]) => {
              if (result.dtype !== "f32" || result.data.length < 100) return [name, result];
              const data = (result.data as Float32Array).map((x) => x * (1 + (runs % 2) * 2 ** -22));
              return [name, tensor(data, result.shape)];
            }),
          );
        },
      }));
    },
    axes: ["determinism", "lifecycle", "state"],
    named: ["determinism/graph/products"],
  },
];
