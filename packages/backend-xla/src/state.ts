import { type HostTensor, MpError } from "@mp/graph";
import { copyTensor } from "@mp/graph/internal";
import { Packing } from "./packing.js";
import { type Client, type DeviceBuffer, settleAll } from "./pjrt/index.js";

type Tensors = Readonly<Record<string, HostTensor>>;

/** A state in device memory. Each run replaces the buffers that it writes. */
export class DeviceState {
  readonly layout: Packing;
  readonly #client: Client;
  #buffers: DeviceBuffer[] = [];
  #loss: MpError | undefined;

  /** @throws MP_OUT_OF_MEMORY, after releasing all buffers */
  constructor(client: Client, values: Tensors) {
    this.#client = client;
    const layout = new Packing(Object.entries(values));
    this.layout = layout;
    this.#buffers = uploadAll(
      client,
      layout.buffers.map((_, buffer) => layout.join(buffer, (slot) => values[slot])),
    );
  }

  get bytes(): number {
    return this.#buffers.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  }

  /** The buffer with this index, valid until a run replaces it. */
  buffer(index: number): DeviceBuffer {
    return this.#buffers[index] as DeviceBuffer;
  }

  /** Replaces the buffers with these indices, and releases the old ones. */
  replace(indices: readonly number[], buffers: readonly DeviceBuffer[]): void {
    for (const [at, index] of indices.entries()) {
      this.buffer(index).release();
      this.#buffers[index] = buffers[at] as DeviceBuffer;
    }
  }

  /** Marks the state as lost: a run failed after its results had taken over the state's memory. */
  lose(cause: unknown): void {
    const said = cause instanceof Error ? cause.message : String(cause);
    const message = `xla: the state is lost, because a run failed that had taken over its memory (${said}); resume from the checkpoint, or keep a copy during runs with \`donate: false\``;
    this.#loss ??= new MpError("MP_BACKEND_FAILED", message, { details: { problem: "state-lost" }, cause });
  }

  /** @throws MP_BACKEND_FAILED if the state is lost */
  expectWhole(): void {
    if (this.#loss !== undefined) throw this.#loss;
  }

  async read(names: readonly string[]): Promise<Tensors> {
    this.expectWhole();
    const { layout } = this;
    const indices = layout.buffersOf(names);
    const read = await settleAll(indices.map((index) => this.buffer(index).beginDownload()));
    const contents = new Map(indices.map((index, at) => [index, read[at] as HostTensor]));
    const content = (index: number): HostTensor => contents.get(index) as HostTensor;
    return Object.fromEntries(names.map((name) => [name, layout.part(name, content)]));
  }

  async write(values: Tensors): Promise<void> {
    this.expectWhole();
    const { layout } = this;
    const given = new Map(Object.entries(values));
    const indices = layout.buffersOf([...given.keys()]);
    const isShared = (index: number): boolean => (layout.buffers[index]?.members.length ?? 0) > 1;
    // Arrays may change at the first await. A buffer of one slot is uploaded before the await, and others are copied.
    const alone = indices.filter((index) => !isShared(index));
    const made = uploadAll(
      this.#client,
      alone.map((index) => layout.join(index, (slot) => given.get(slot))),
    );
    const shared = indices.filter(isShared);
    for (const [slot, value] of given) given.set(slot, copyTensor(value));
    try {
      const bases = await settleAll(shared.map((index) => this.buffer(index).beginDownload()));
      const joined = shared.map((index, at) => layout.join(index, (slot) => given.get(slot), bases[at]));
      made.push(...uploadAll(this.#client, joined));
    } catch (error) {
      for (const buffer of made) buffer.release();
      throw error;
    }
    this.replace([...alone, ...shared], made);
  }

  release(): void {
    for (const buffer of this.#buffers) buffer.release();
    this.#buffers = [];
  }
}

/** Uploads all tensors. If one fails, releases the others and throws. */
function uploadAll(client: Client, tensors: readonly HostTensor[]): DeviceBuffer[] {
  const made: DeviceBuffer[] = [];
  try {
    for (const tensor of tensors) made.push(client.upload(tensor));
    return made;
  } catch (error) {
    for (const buffer of made) buffer.release();
    throw error;
  }
}
