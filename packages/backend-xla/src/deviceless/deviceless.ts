import { type Backend, full, type Graph, type HostTensor, isFloat, type ValueType } from "@mp/graph";
import { defineBackend } from "@mp/graph/backend";
import { checks, invalid, readOptions, withDefault } from "@mp/graph/internal";
import { type CompiledStep, readCompiled } from "../compiled/compiled-step.js";
import { compileProducts, DEVICE_FLAGS, flagsFor } from "../flags.js";
import { locateCompiler } from "../library.js";
import { compilerManifest, expectFlashDevice } from "../manifest.js";
import { writeModule } from "../module.js";
import { Packing } from "../packing.js";
import { loadPlugin } from "../pjrt/index.js";
import { Topology } from "../pjrt/topology.js";
import { GPU_TARGETS, type GpuTargetName } from "./gpu-target-table.js";
import { targetConfig } from "./target-config.js";

/** A graph compiled for a GPU that this machine need not have. */
export interface CompiledGraph {
  readonly graph: Graph;
  readonly step: CompiledStep;
  /** Milliseconds to write and compile the program. */
  readonly compileMs: number;
}

export interface DevicelessOptions {
  /** The GPU, by its name in `GPU_TARGETS`. */
  readonly target: GpuTargetName;
  /**
   * An absolute path to XLA's CUDA plugin, with the programs that it calls in the same folder. Default: the
   * plugin that `mp-libxla install cuda13-compiler` or `cuda13` installed.
   */
  readonly plugin?: string;
  /** Whether f32 products may round their operands to TF32. Default false. */
  readonly tf32?: boolean;
  /** Whether attention on half dtypes calls cuDNN's flash attention. Default false. */
  readonly flashAttention?: boolean;
  /** Whether a run reuses the memory of the state that it replaces. Default true. */
  readonly donate?: boolean;
  /** Number of GPUs that run each program together. Default 1. */
  readonly devices?: number;
  /** XLA flags by name, added to the flags that the backend sets; a flag of the same name is replaced. */
  readonly flags?: Readonly<Record<string, boolean | number | string>>;
}

const { count, object, oneOf, optional, path, truth } = checks;

const OPTIONS = {
  target: oneOf(...Object.keys(GPU_TARGETS)),
  plugin: optional(path),
  tf32: withDefault(false, truth),
  flashAttention: withDefault(false, truth),
  donate: withDefault(true, truth),
  devices: withDefault(1, count),
  flags: optional(object),
};

/**
 * A backend that compiles graphs for a GPU that this machine need not have, and runs none: results are 1
 * where they are floats, else 0, and no step is applied. A trainer's first step compiles the trainer's program.
 * @param onCompiled is called with each graph once it is compiled
 * @throws MP_INVALID_ARGUMENT for an unknown option
 * @throws MP_BACKEND_UNAVAILABLE without the plugin, naming the remedy
 */
export function deviceless(given: DevicelessOptions, onCompiled: (compiled: CompiledGraph) => void): Backend {
  const options = readOptions("compileStep", given, OPTIONS, { example: '{ target: "h200" }' });
  const plugin = loadPlugin(locateCompiler(options.plugin, process.env));
  const target = GPU_TARGETS[options.target];
  const { devices, flashAttention } = options;
  if (flashAttention) expectFlashDevice("compileStep", "cuda", devices);
  const place = { target_config: targetConfig(target), topology: `1x1x${devices}` };
  const topology = new Topology(plugin, place, devices);
  return defineBackend<ValueType, Packing>({
    name: "deviceless",
    manifest: compilerManifest(plugin, flashAttention),
    upload: ({ dtype, shape }) => ({ dtype, shape }),
    download: (_, type) => placeholder(type),
    bytes: () => 0,
    compile: async (graph, { bound, state }) => {
      const begin = performance.now();
      const module = writeModule({
        graph,
        bound,
        layout: state ?? new Packing([]),
        isDonating: options.donate,
        options: { tf32: options.tf32, isProcessor: false, devices, flashAttention },
      });
      const flags = { ...flagsFor(DEVICE_FLAGS.cuda, module), ...options.flags };
      const program = await compileProducts(flags, (chosen) => topology.compile(module.text, chosen));
      onCompiled({ graph, step: readCompiled(program), compileMs: performance.now() - begin });
      const types = new Map(graph.outputs.map(({ name, value }) => [name, value] as const));
      const results = module.names.map((name) => [name, types.get(name) as ValueType] as const);
      return { run: () => Object.fromEntries(results) };
    },
    states: {
      create: (values) => new Packing(Object.entries(values)),
      read: (layout, names) =>
        Object.fromEntries(names.map((name) => [name, placeholder(layout.typeOf(name))])),
      write: () => undefined,
      release: () => undefined,
      bytes: () => 0,
    },
    close: () => topology.release(),
  });
}

/**
 * Returns the last graph that `run` compiled on a backend for a GPU that is not here.
 * @throws MP_INVALID_ARGUMENT if it compiled none; what `deviceless` and `run` throw
 */
export async function compileLast(
  options: DevicelessOptions,
  run: (backend: Backend) => Promise<unknown>,
): Promise<CompiledGraph> {
  let last: CompiledGraph | undefined;
  const backend = deviceless(options, (compiled) => {
    last = compiled;
  });
  try {
    await run(backend);
  } finally {
    await backend.dispose();
  }
  if (last === undefined) throw invalid("compileStep: train must call a trainer's step");
  return last;
}

/** A scale of 0 would be warned of. */
const placeholder = ({ dtype, shape }: ValueType): HostTensor => full(shape, isFloat(dtype) ? 1 : 0, dtype);
