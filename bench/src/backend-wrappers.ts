/** Wrappers around a backend that show from outside what a trainer makes its engine do. */
import { type Backend, type HostTensor, zeros } from "@mp/core";
import {
  type CompileOptions,
  type Executable,
  type Graph,
  GraphBuilder,
  type Value,
  type ValueType,
} from "@mp/core/graph";

export interface Timings {
  /** One entry per compilation, in order. */
  readonly compileMilliseconds: number[];
  /** One entry per run, in order. */
  readonly runMilliseconds: number[];
}

type Compile = (graph: Graph, options?: CompileOptions) => Promise<Executable>;

function withCompile(backend: Backend, compile: Compile): Backend {
  return {
    name: backend.name,
    specVersion: backend.specVersion,
    manifest: backend.manifest,
    compile,
    createState: (values, options) => backend.createState(values, options),
    upload: (tensor) => backend.upload(tensor),
    download: (handle) => backend.download(handle),
    stats: () => backend.stats(),
    dispose: () => backend.dispose(),
  };
}

/** Times every compilation and run. */
export function timedBackend(backend: Backend): { readonly backend: Backend; readonly timings: Timings } {
  const timings: Timings = {
    compileMilliseconds: [],
    runMilliseconds: [],
  };
  const compile: Compile = async (graph, options) => {
    const startedAt = performance.now();
    const inner = await backend.compile(graph, options);
    timings.compileMilliseconds.push(performance.now() - startedAt);
    return timed(inner, timings);
  };
  return { backend: withCompile(backend, compile), timings };
}

function timed(inner: Executable, timings: Timings): Executable {
  return {
    warnings: inner.warnings,
    run: async (inputs) => {
      const startedAt = performance.now();
      const outputs: Readonly<Record<string, HostTensor>> = await inner.run(inputs);
      timings.runMilliseconds.push(performance.now() - startedAt);
      return outputs;
    },
    dispose: () => inner.dispose(),
  };
}

/**
 * Makes the engine compute nothing: every graph keeps its inputs, outputs and bindings, and its outputs become copies
 * of inputs or constants. The remaining time of a step is the cost around the engine's work.
 */
export function hollowBackend(backend: Backend): Backend {
  return withCompile(backend, (graph, options) => backend.compile(hollow(graph, options), options));
}

function hollow(graph: Graph, options: CompileOptions = {}): Graph {
  const builder = new GraphBuilder();
  const inputs = new Map<string, Value>();
  for (const { name, role, value } of graph.inputs) inputs.set(name, builder.input(name, value, role));
  const replaced = new Map((options.bindings ?? []).map(({ input, output }) => [output, input]));
  const outputs = new Map<string, Value>();
  for (const { name, value } of graph.outputs) {
    const before = inputs.get(replaced.get(name) ?? "");
    outputs.set(
      name,
      before === undefined
        ? builder.constant(placeholder(value, name === options.applied))
        : builder.emitOne("Identity", [before], {}),
    );
  }
  return builder.finish(outputs);
}

/** Zeros; ones for the commit flag. */
function placeholder(type: ValueType, isSet: boolean): HostTensor {
  const made = zeros(type.shape, type.dtype);
  if (isSet) (made.data as Uint8Array).fill(1);
  return made;
}
