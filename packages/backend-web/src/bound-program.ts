import { type Executable, type Graph, type HostTensor, MpError } from "@mp/graph";
import type { FeedFunctions, Place, Program } from "@mp/graph/backend";
import { failureInNode, type Lowered } from "@mp/onnx-lowering";
import type { GpuTensor } from "./gpu-memory.js";
import type { GpuSlots } from "./gpu-slots.js";
import type { Loaded, WebEngine } from "./web-engine.js";

/** A tensor in a GPU buffer, as handles are, or on the host, as results are. */
export type WebTensor = GpuTensor | HostTensor;

export const isOnGpu = (tensor: WebTensor): tensor is GpuTensor => "buffer" in tensor;

export interface ProgramParts extends Place<GpuSlots>, Loaded {
  readonly engine: WebEngine;
  readonly graph: Graph;
  readonly lowered: Lowered;
}

type Results = Readonly<Record<string, HostTensor>>;

const FALLBACK: Executable["warnings"][number] = {
  type: "fallback",
  message:
    "ortWeb: some nodes run on the processor, and what they read and give is copied in every run; onnxruntime-web does not say which",
};

/** A session with its own buffers for inputs and results. Slots are in the buffers of the state instead. */
export class BoundProgram implements Program<WebTensor> {
  readonly feed: FeedFunctions<WebTensor>;
  readonly warnings: Executable["warnings"];
  readonly #parts: ProgramParts;
  readonly #feeds = new Map<string, GpuTensor>();
  readonly #constants = new Map<string, GpuTensor>();
  readonly #results = new Map<string, GpuTensor>();

  /** Allocates buffers, so call it in `allocating`. Takes ownership of the session, even if it throws. */
  constructor(parts: ProgramParts) {
    this.#parts = parts;
    const { engine, graph, bound, lowered } = parts;
    const { memory } = engine;
    this.warnings = parts.isOnGpu ? [] : [FALLBACK];
    this.feed = {
      write: (input, tensor) => {
        const buffer = this.#feeds.get(input);
        if (buffer !== undefined) memory.write(buffer, tensor);
      },
      copy: (input, tensor) => {
        const buffer = this.#feeds.get(input);
        if (buffer === undefined) return;
        if (isOnGpu(tensor)) memory.copy(tensor, buffer);
        else memory.write(buffer, tensor);
      },
    };
    try {
      for (const { name, value } of lowered.constants) {
        const buffer = memory.allocate(value);
        this.#constants.set(name, buffer);
        memory.write(buffer, value);
      }
      for (const { name, value } of graph.inputs)
        if (!bound.reads.has(name)) this.#feeds.set(name, memory.allocate(value));
      for (const { name, value } of graph.outputs)
        if (!bound.taken.has(name)) this.#results.set(name, memory.allocate(value));
    } catch (error) {
      this.dispose();
      throw error;
    }
  }

  async run(): Promise<Results> {
    const { engine, session, graph, lowered } = this.#parts;
    const [inputs, outputs] = await engine.memory.allocating(
      () => [this.#inputs(), this.#outputs()] as const,
    );
    try {
      await engine.run(session, inputs, outputs);
    } catch (error) {
      throw MpError.is(error) ? failureInNode(error, graph, lowered.nodeOf) : error;
    }
    const returned = [...this.#results];
    const { bound, state } = this.#parts;
    if (state !== undefined)
      for (const [output, [first, ...others]] of bound.taken) {
        // An output is bound to the buffer of its first slot; its other slots get copies.
        for (const slot of others) engine.memory.copy(state.next(first), state.next(slot));
        if (output === bound.applied) returned.push([output, state.next(first)]);
      }
    const values = await engine.memory.read(returned.map(([, tensor]) => tensor));
    return Object.fromEntries(returned.map(([name], index) => [name, values[index] as HostTensor]));
  }

  commit(isApplied: boolean): void {
    const { bound, state } = this.#parts;
    state?.flip(bound.always);
    if (isApplied) state?.flip(bound.whenApplied);
  }

  dispose(): void {
    const { engine, session } = this.#parts;
    for (const buffers of [this.#feeds, this.#constants, this.#results])
      for (const buffer of buffers.values()) engine.memory.release(buffer);
    engine.release(session);
  }

  #inputs(): readonly (readonly [string, GpuTensor])[] {
    const { bound, state, lowered } = this.#parts;
    const inputs: (readonly [string, GpuTensor])[] = [...this.#constants];
    for (const [name, buffer] of this.#feeds) inputs.push([lowered.inputName(name), buffer]);
    if (state !== undefined)
      for (const [input, slot] of bound.reads) inputs.push([lowered.inputName(input), state.current(slot)]);
    return inputs;
  }

  /** The buffers of the outputs; allocates a second buffer for each slot that has none. */
  #outputs(): readonly (readonly [string, GpuTensor])[] {
    const { bound, state, lowered } = this.#parts;
    const outputs = [...this.#results];
    if (state !== undefined)
      for (const [output, [first, ...others]] of bound.taken) {
        outputs.push([output, state.next(first)]);
        for (const slot of others) state.next(slot);
      }
    return outputs.map(([name, buffer]) => [lowered.outputName(name), buffer]);
  }
}
