import { type Backend, type BackendManifest, byteLength, type Graph } from "@mp/graph";
import { defineBackend, type Place } from "@mp/graph/backend";
import { copyTensor } from "@mp/graph/internal";
import { ConstantPool } from "./constant-pool.js";
import { compileProducts, deviceOf, flagsFor } from "./flags.js";
import { type ProgramModule, writeModule } from "./module.js";
import { Packing, SMALL_BYTES } from "./packing.js";
import { type Client, DeviceBuffer, type Flags, type NativeExecutable } from "./pjrt/index.js";
import { DeviceProgram, type Stored } from "./program.js";
import type { ProgramCache } from "./program-cache.js";
import { DeviceState } from "./state.js";

export interface EngineOptions {
  readonly client: Client;
  readonly flags: Flags;
  /** Whether results of a run take over the memory of the state that they replace. */
  readonly isDonating: boolean;
  readonly tf32: boolean;
  readonly flashAttention?: boolean;
  /** Cache of compiled programs; undefined if they are not kept. */
  readonly cache?: ProgramCache | undefined;
}

const NO_STATE = new Packing([]);

/** Presents a plugin's client as a backend. Graphs become programs, and states become buffers on the device. */
export function xlaBackend(manifest: BackendManifest, options: EngineOptions): Backend {
  const { client } = options;
  const pool = new ConstantPool(client);
  return defineBackend<Stored, DeviceState>({
    name: "xla",
    manifest,
    // With several devices, each program says which part of a tensor each device gets.
    upload: (tensor) =>
      client.deviceCount === 1 && byteLength(tensor) > SMALL_BYTES
        ? client.upload(tensor)
        : copyTensor(tensor),
    download: (stored) => (stored instanceof DeviceBuffer ? stored.download() : copyTensor(stored)),
    release: (stored) => {
      if (stored instanceof DeviceBuffer) stored.release();
    },
    compile: (graph, place) => compileProgram(graph, place, options, pool),
    states: {
      create: (values) => new DeviceState(client, values),
      read: (state, names) => state.read(names),
      write: (state, values) => state.write(values),
      release: (state) => state.release(),
      bytes: (state) => state.bytes,
    },
    close: () => client.close(),
  });
}

/** Writes a graph as a program and compiles it. @throws MP_UNSUPPORTED, MP_OUT_OF_MEMORY, MP_BACKEND_FAILED */
export async function compileModule(
  graph: Graph,
  { bound, state }: Place<DeviceState>,
  engine: EngineOptions,
): Promise<{ readonly module: ProgramModule; readonly executable: NativeExecutable }> {
  const { client, isDonating, tf32, flashAttention = false } = engine;
  const module = writeModule({
    graph,
    bound,
    layout: state?.layout ?? NO_STATE,
    isDonating,
    options: { tf32, isProcessor: deviceOf(client) === "cpu", devices: client.deviceCount, flashAttention },
  });
  return { module, executable: await compileKept(engine, module) };
}

/** Compiles a graph to a program that can be run. @throws as `compileModule` */
export async function compileProgram(
  graph: Graph,
  place: Place<DeviceState>,
  engine: EngineOptions,
  pool: ConstantPool,
): Promise<DeviceProgram> {
  const { module, executable } = await compileModule(graph, place, engine);
  const { client, isDonating } = engine;
  try {
    const constants = pool.acquire(module.constants);
    const { state } = place;
    return new DeviceProgram({ client, module, executable, state, constants, pool, isDonating });
  } catch (error) {
    executable.release();
    throw error;
  }
}

/** Compiles a program, or reads it from the cache. */
async function compileKept(
  { client, flags, cache }: EngineOptions,
  module: ProgramModule,
): Promise<NativeExecutable> {
  const { text, outputTypes } = module;
  const compile = (): Promise<NativeExecutable> =>
    compileProducts(flagsFor(flags, module), (chosen) => client.compile(text, chosen, outputTypes));
  if (cache === undefined) return compile();
  const file = cache.fileOf(JSON.stringify(flags), text);
  const kept = await cache.read(file);
  // The plugin may refuse what another version of it has written.
  const loaded = kept && (await client.load(kept, outputTypes).catch(() => undefined));
  if (loaded !== undefined) return loaded;
  const executable = await compile();
  await cache.keep(file, executable.serialize());
  return executable;
}
