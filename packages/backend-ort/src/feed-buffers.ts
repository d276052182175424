import { type HostTensor, MpError, type RunInput, type ValueType } from "@mp/core";
import { expectHostTensor, expectType, type HandleTable } from "@mp/core/backend";
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
   * Checks every input, then takes what the caller's arrays hold now: into the buffers when the run is the next,
   * otherwise aside, until the returned function is called in its turn.
   * @throws MP_INVALID_ARGUMENT, MP_SHAPE_MISMATCH, MP_DTYPE_MISMATCH, MP_DISPOSED
   */
  take(inputs: Inputs, stateInputs: ReadonlyMap<string, string>, isNext: boolean): () => void {
    this.#checkNames(inputs, stateInputs);
    const sources = [...this.#buffers].map(([name, buffer]) => this.#source(inputs, name, buffer));
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

  #checkNames(inputs: Inputs, stateInputs: ReadonlyMap<string, string>): void {
    for (const name of Object.keys(inputs)) {
      if (this.#buffers.has(name)) continue;
      if (stateInputs.has(name)) throw invalid(`input "${name}" comes from the state, leave it out`);
      const known = [...this.#buffers.keys()].join(", ") || "none";
      throw invalid(`there is no input "${name}", the graph takes ${known}`);
    }
  }

  #source(inputs: Inputs, name: string, buffer: NativeTensor): readonly [NativeTensor, RunInput] {
    const input = Object.hasOwn(inputs, name) ? inputs[name] : undefined;
    if (input === undefined) throw invalid(`input "${name}" is missing`);
    const what = `run: input "${name}"`;
    expectType(what, this.#handles.find(input) ?? expectHostTensor(what, input), buffer);
    return [buffer, input];
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

/** The same values in an array of their own. */
export function copyOf(value: HostTensor): HostTensor {
  return { ...value, data: value.data.slice() } as HostTensor;
}

function invalid(message: string): MpError<"MP_INVALID_ARGUMENT"> {
  return new MpError("MP_INVALID_ARGUMENT", `run: ${message}`);
}
