import type { HostTensor } from "@mp/core";
import { expectRunInputs, type HandleTable, type RunInput } from "@mp/core/backend";
import type { ValueType } from "@mp/core/graph";
import type { NativeRuntime, NativeTensor } from "./native/index.js";

type Inputs = Readonly<Record<string, RunInput>>;

/** Bound buffers that a run's inputs are copied into. */
export class FeedBuffers {
  readonly #handles: HandleTable<NativeTensor>;
  readonly #buffers = new Map<string, NativeTensor>();

  constructor(handles: HandleTable<NativeTensor>) {
    this.#handles = handles;
  }

  add(name: string, type: ValueType, runtime: NativeRuntime): void {
    this.#buffers.set(name, runtime.allocate(type));
  }

  get byName(): ReadonlyMap<string, NativeTensor> {
    return this.#buffers;
  }

  /**
   * Checks every input, then copies what the caller's arrays hold now: into the bound buffers when this run is the next
   * one, otherwise into temporary copies, until it is this run's turn and the returned function is called.
   * @throws MP_INVALID_ARGUMENT, MP_SHAPE_MISMATCH, MP_DTYPE_MISMATCH, MP_DISPOSED
   */
  take(inputs: Inputs, stateInputs: ReadonlyMap<string, string>, isNext: boolean): () => void {
    const sources = expectRunInputs(inputs, this.#buffers, stateInputs, this.#handles).map(
      ([name, input]) => [this.#buffers.get(name) as NativeTensor, input] as const,
    );
    const copies = isNext ? [] : sources.map(([buffer, source]) => this.#keep(buffer, source));
    if (isNext) for (const [buffer, source] of sources) this.#copy(buffer, source);
    return () => {
      for (const copy of copies) copy();
    };
  }

  release(): void {
    for (const buffer of this.#buffers.values()) buffer.release();
    this.#buffers.clear();
  }

  #copy(buffer: NativeTensor, source: RunInput): void {
    const held = this.#handles.find(source);
    if (held === undefined) buffer.write(source as HostTensor);
    else buffer.copyFrom(held);
  }

  #keep(buffer: NativeTensor, source: RunInput): () => void {
    const held = this.#handles.borrow(source);
    if (held === undefined) {
      const copy = copyOf(source as HostTensor);
      return () => buffer.write(copy);
    }
    return () => {
      buffer.copyFrom(held.tensor);
      held.giveBack();
    };
  }
}

/** The same values in a new array. */
export function copyOf(value: HostTensor): HostTensor {
  return { ...value, data: value.data.slice() } as HostTensor;
}
