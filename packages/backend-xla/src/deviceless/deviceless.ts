import { type Backend, type Graph, type HostTensor, type ValueType, zeros } from "@mp/graph";
import { defineBackend } from "@mp/graph/backend";
import { checks, readOptions, withDefault } from "@mp/graph/internal";
import { type CompiledStep, readCompiled } from "../compiled/index.js";
import { compileProducts, DEVICE_FLAGS } from "../flags.js";
import { locateCompiler } from "../library.js";
import { expectFlashDevice } from "../manifest.js";
import { writeModule } from "../module.js";
import { type Flags, loadPlugin } from "../pjrt/index.js";
import { Topology } from "../pjrt/topology.js";
import { StateLayout } from "../state-layout.js";
import { devicelessManifest } from "./deviceless-manifest.js";
import { GPU_TARGETS, type GpuTargetName } from "./gpu-target-table.js";
import { targetConfig } from "./target-config.js";

/** A graph that was compiled for a GPU that is not here. */
export interface CompiledGraph {
  readonly graph: Graph;
  readonly step: CompiledStep;
  /** Milliseconds from the graph to the compiled program. */
  readonly compileMs: number;
}

export interface DevicelessOptions {
  /** The GPU, by its name in `GPU_TARGETS`. */
  readonly target: GpuTargetName;
  /** Called with each graph once it is compiled. */
  readonly onCompiled: (compiled: CompiledGraph) => void;
  /**
   * An absolute path to XLA's CUDA plugin, beside which the programs lie that it calls. Default: the one that
   * `mp-libxla install cuda13-compiler` or `cuda13` installed.
   */
  readonly plugin?: string;
  /** Whether products of float32 may round their operands to TF32. Default: they may not. */
  readonly tf32?: boolean;
  /** Whether attention of halves calls cuDNN's flash attention. Default: it does not. */
  readonly flashAttention?: boolean;
  /** Whether a run takes over the memory of the state. Default: it does. */
  readonly donate?: boolean;
  /** Number of GPUs that run a program together. Default: one. */
  readonly devices?: number;
  /** Flags of XLA by name. They are added to those that the backend sets, and replace those of the same name. */
  readonly flags?: Flags;
}

const { callback, count, object, oneOf, optional, path, truth } = checks;

const OPTIONS = {
  target: oneOf(...Object.keys(GPU_TARGETS)),
  onCompiled: callback,
  plugin: optional(path),
  tf32: withDefault(false, truth),
  flashAttention: withDefault(false, truth),
  donate: withDefault(true, truth),
  devices: withDefault(1, count),
  flags: optional(object),
};

/**
 * A backend that compiles graphs for a GPU that this machine need not have, and runs none: every result is zeros, and
 * no step is applied. A trainer's first step compiles its program.
 * @example
 * ```ts
 * const backend = await deviceless({ target: "h200", onCompiled: ({ step }) => steps.push(step) });
 * ```
 * @throws MP_INVALID_ARGUMENT for an unknown option
 * @throws MP_BACKEND_UNAVAILABLE without the plugin, naming the remedy
 */
export async function deviceless(given: DevicelessOptions): Promise<Backend> {
  const options = readOptions("deviceless", given, OPTIONS, { example: '{ target: "h200", onCompiled }' });
  const plugin = loadPlugin(locateCompiler(options.plugin, process.env));
  const target = GPU_TARGETS[options.target];
  const { devices, flashAttention } = options;
  if (flashAttention) expectFlashDevice("deviceless", "cuda", devices);
  const place = { target_config: targetConfig(target), topology: `1x1x${devices}` };
  const topology = new Topology(plugin, place, devices);
  return defineBackend<ValueType, StateLayout>({
    name: "deviceless",
    manifest: devicelessManifest(plugin, flashAttention),
    upload: ({ dtype, shape }) => ({ dtype, shape }),
    download: (_, type) => zerosOf(type),
    bytes: () => 0,
    compile: async (graph, { bound, state }) => {
      const begin = performance.now();
      const module = writeModule({
        graph,
        bound,
        layout: state ?? new StateLayout({}),
        isDonating: options.donate,
        options: { tf32: options.tf32, isProcessor: false, devices, flashAttention },
      });
      const flags = { ...DEVICE_FLAGS.cuda, ...options.flags };
      const program = await compileProducts(flags, (chosen) => topology.compile(module.text, chosen));
      options.onCompiled({
        graph,
        step: readCompiled(program),
        compileMs: performance.now() - begin,
      });
      const types = new Map(graph.outputs.map(({ name, value }) => [name, value] as const));
      const results = module.results.names.map((name) => [name, types.get(name) as ValueType] as const);
      return { run: () => Object.fromEntries(results) };
    },
    states: {
      create: (values) => new StateLayout(values),
      read: (layout, names) => Object.fromEntries(names.map((name) => [name, zerosOf(typeIn(layout, name))])),
      write: () => undefined,
      release: () => undefined,
      bytes: () => 0,
    },
    close: () => topology.release(),
  });
}

const zerosOf = ({ dtype, shape }: ValueType): HostTensor => zeros(shape, dtype);

const typeIn = (layout: StateLayout, slot: string): ValueType =>
  layout.packing.types[layout.indexOf(slot)] as ValueType;
