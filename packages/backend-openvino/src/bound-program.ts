import type { Graph, ProfileRow } from "@mp/graph";
import type { FeedFunctions, Place, Program } from "@mp/graph/backend";
import type { Lowered } from "@mp/onnx-lowering";
import {
  type PingPongSlots,
  type PooledConstant,
  PreparedBindings,
  profileRows,
  RunPacer,
  releaseConstants,
} from "@mp/onnx-lowering/program";
import type { NativeModel, NativeRequest, NativeRuntime, NativeTensor } from "./native/index.js";

export interface ProgramParts extends Place<PingPongSlots<NativeTensor>> {
  readonly runtime: NativeRuntime;
  readonly graph: Graph;
  readonly lowered: Lowered;
  readonly model: NativeModel;
  readonly constants: ReadonlyMap<string, PooledConstant<NativeTensor>>;
}

/** The suffix that the library's ONNX reader adds to the name of a Gemm's product. */
const PRODUCT_OF_GEMM = /\/WithoutBiases$/;

/** The library's type of a node that stands for several fused operators, named after one of them. */
const FUSED = "Subgraph";

type Results = Readonly<Record<string, NativeTensor>>;

/**
 * A compiled model with everything bound in advance: inputs and results to buffers of their own, and each slot of the
 * state to two buffers (`PingPongSlots`). Has one request for each combination of buffers that a run may read.
 */
export class BoundProgram implements Program<NativeTensor> {
  readonly feed: FeedFunctions<NativeTensor>;
  readonly #parts: ProgramParts;
  readonly #feeds = new Map<string, NativeTensor>();
  readonly #results = new Map<string, NativeTensor>();
  readonly #requests = new PreparedBindings<NativeRequest>();
  readonly #slots: readonly string[];
  readonly #pacer = new RunPacer();

  /** Takes ownership of the model and the constants, even if it throws. */
  constructor(parts: ProgramParts) {
    this.#parts = parts;
    const { runtime, graph, bound, lowered } = parts;
    this.#slots = [...new Set(bound.reads.values())];
    this.feed = {
      write: (input, tensor) => this.#feeds.get(input)?.write(tensor),
      copy: (input, tensor) => this.#feeds.get(input)?.copyFrom(tensor),
    };
    try {
      for (const { name, value } of graph.inputs)
        if (!bound.reads.has(name) && lowered.isRead(name)) this.#feeds.set(name, runtime.allocate(value));
      for (const { name, value } of graph.outputs)
        if (!bound.taken.has(name)) this.#results.set(name, runtime.allocate(value));
    } catch (error) {
      this.dispose();
      throw error;
    }
  }

  async run(_: unknown, onRow?: (row: ProfileRow) => void): Promise<Results> {
    const { state, bound } = this.#parts;
    if (onRow !== undefined) for (const row of await this.#profile()) onRow(row);
    else await this.#pacer.run(this.#requests.get(state?.sides(this.#slots) ?? "", () => this.#bind()));
    const results: Record<string, NativeTensor> = Object.fromEntries(this.#results);
    for (const [output, [first, ...others]] of bound.taken) {
      const written = (state as PingPongSlots<NativeTensor>).next(first);
      for (const slot of others) state?.next(slot).copyFrom(written);
      if (output === bound.applied) results[output] = written;
    }
    return results;
  }

  isRead(input: string): boolean {
    return this.#parts.lowered.isRead(input);
  }

  commit(isApplied: boolean): void {
    const { bound, state } = this.#parts;
    state?.flip(bound.always);
    if (isApplied) state?.flip(bound.whenApplied);
  }

  dispose(): void {
    this.#requests.releaseAll();
    for (const buffers of [this.#feeds, this.#results])
      for (const buffer of buffers.values()) buffer.release();
    this.#parts.model.release();
    releaseConstants(this.#parts.constants);
  }

  /** Compiles a model for each profile, because the library's counters are means over all runs of a compiled model. */
  async #profile(): Promise<readonly ProfileRow[]> {
    const { runtime, graph, lowered } = this.#parts;
    const model = await runtime.compile(lowered.model, { hasCounters: true });
    let request: NativeRequest | undefined;
    try {
      request = this.#bind(model);
      await request.runAsync();
      // The library names a node after its first result.
      const ofOutput = new Map(
        graph.outputs.map(({ name, value }) => [
          lowered.outputName(name),
          graph.nodes.find(({ outputs }) => outputs.includes(value))?.name,
        ]),
      );
      const ops = new Map<string, string>(graph.nodes.map(({ name, op }) => [name, op]));
      const times = request.times().map((time) => {
        const node = ofOutput.get(time.node) ?? lowered.nodeOf(time.node.replace(PRODUCT_OF_GEMM, ""));
        return { ...time, node, op: (time.op === FUSED ? ops.get(node) : undefined) ?? time.op };
      });
      return profileRows(times);
    } finally {
      request?.release();
      model.release();
    }
  }

  /** Makes a request that reads the current buffers of the state's slots and writes the others. */
  #bind(model = this.#parts.model): NativeRequest {
    const { runtime, bound, state, lowered, constants } = this.#parts;
    const request = runtime.request(model);
    try {
      for (const [name, { tensor }] of constants) request.bind(name, tensor);
      for (const [name, tensor] of this.#feeds) request.bind(lowered.inputName(name), tensor);
      for (const [name, tensor] of this.#results) request.bind(lowered.outputName(name), tensor);
      if (state === undefined) return request;
      for (const [input, slot] of bound.reads)
        if (lowered.isRead(input)) request.bind(lowered.inputName(input), state.current(slot));
      for (const [output, [first]] of bound.taken)
        request.bind(lowered.outputName(output), state.next(first));
      return request;
    } catch (error) {
      request.release();
      throw error;
    }
  }
}
