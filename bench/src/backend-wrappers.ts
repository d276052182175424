/** Wrappers around a backend, for measurements of a trainer from outside. */
import { type Backend, type HostTensor, zeros } from "@mp/core";
import { type CompileOptions, type Graph, GraphBuilder, type Value, type ValueType } from "@mp/core/graph";
import { time } from "./timing.js";

/** The backend with some of its functions replaced. */
export function withFunctions(
  backend: Backend,
  replaced: Partial<Pick<Backend, "compile" | "createState">>,
): Backend {
  return {
    name: backend.name,
    specVersion: backend.specVersion,
    manifest: backend.manifest,
    compile: (graph, options) => backend.compile(graph, options),
    createState: (values, options) => backend.createState(values, options),
    upload: (tensor) => backend.upload(tensor),
    download: (handle) => backend.download(handle),
    stats: () => backend.stats(),
    dispose: () => backend.dispose(),
    ...replaced,
  };
}

export interface Timings {
  /** One entry per compilation, in order. */
  readonly compileMilliseconds: number[];
  /** One entry per run, in order. */
  readonly runMilliseconds: number[];
}

/** Times every compilation and run. */
export function timeBackend(backend: Backend): { readonly backend: Backend; readonly timings: Timings } {
  const timings: Timings = { compileMilliseconds: [], runMilliseconds: [] };
  const compile: Backend["compile"] = async (graph, options) => {
    const executable = await time(timings.compileMilliseconds, () => backend.compile(graph, options));
    return {
      warnings: executable.warnings,
      run: (inputs) => time(timings.runMilliseconds, () => executable.run(inputs)),
      dispose: () => executable.dispose(),
    };
  };
  return { backend: withFunctions(backend, { compile }), timings };
}

/**
 * Makes the engine compute nothing: every graph keeps its inputs, outputs and bindings, and its outputs become copies
 * of inputs or constants. The remaining time of a step is the cost around the engine's work.
 */
export function hollowBackend(backend: Backend): Backend {
  return withFunctions(backend, {
    compile: (graph, options) => backend.compile(hollow(graph, options), options),
  });
}

function hollow(graph: Graph, options: CompileOptions = {}): Graph {
  const builder = new GraphBuilder();
  const inputs = new Map<string, Value>();
  for (const { name, role, value } of graph.inputs) inputs.set(name, builder.input(name, value, role));
  const replaced = new Map((options.bindings ?? []).map(({ input, output }) => [output, input]));
  const outputs = graph.outputs.map(({ name, value }): [string, Value] => {
    const before = inputs.get(replaced.get(name) ?? "");
    return [
      name,
      before === undefined
        ? builder.constant(placeholder(value, name === options.applied))
        : builder.emitOne("Identity", [before], {}),
    ];
  });
  return builder.finish(new Map(outputs));
}

/** Zeros of a type; ones for the commit flag. */
function placeholder(type: ValueType, isSet: boolean): HostTensor {
  const made = zeros(type.shape, type.dtype);
  if (isSet) (made.data as Uint8Array).fill(1);
  return made;
}
