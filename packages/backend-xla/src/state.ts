import { type HostTensor, MpError } from "@mp/graph";
import { copyTensor } from "@mp/graph/internal";
import { type Client, type DeviceBuffer, settleAll } from "./pjrt/index.js";
import { StateLayout } from "./state-layout.js";

type Tensors = Readonly<Record<string, HostTensor>>;

/** A state in the device's memory, in buffers that runs replace. */
export class DeviceState {
  readonly layout: StateLayout;
  readonly #client: Client;
  #buffers: DeviceBuffer[] = [];
  #loss: MpError | undefined;

  /** @throws MP_OUT_OF_MEMORY; then it leaves nothing behind */
  constructor(client: Client, values: Tensors) {
    this.#client = client;
    this.layout = new StateLayout(values);
    const { packing, slots } = this.layout;
    const memberValue = (index: number): HostTensor | undefined => values[slots[index] as string];
    this.#buffers = uploadAll(
      client,
      packing.buffers.map((_, buffer) => packing.join(buffer, memberValue)),
    );
  }

  get bytes(): number {
    return this.#buffers.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  }

  /** The buffer of that index, valid until it is replaced. */
  buffer(index: number): DeviceBuffer {
    return this.#buffers[index] as DeviceBuffer;
  }

  /** Replaces buffers, and releases the old ones. */
  replace(indices: readonly number[], buffers: readonly DeviceBuffer[]): void {
    for (const [at, index] of indices.entries()) {
      this.buffer(index).release();
      this.#buffers[index] = buffers[at] as DeviceBuffer;
    }
  }

  /** Gives the state up, because a run has failed that had taken over its memory. */
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
    return Object.fromEntries(
      names.map((name) => {
        const index = layout.indexOf(name);
        const content = contents.get(layout.packing.locationOf(index).buffer) as HostTensor;
        return [name, layout.packing.part(index, content)];
      }),
    );
  }

  async write(values: Tensors): Promise<void> {
    this.expectWhole();
    const { layout } = this;
    const { packing } = layout;
    const given = new Map(Object.entries(values).map(([slot, value]) => [layout.indexOf(slot), value]));
    const indices = layout.buffersOf(Object.keys(values));
    const isShared = (index: number): boolean => (packing.buffers[index]?.members.length ?? 0) > 1;
    // Arrays may change at the first await: a buffer of one slot is uploaded before that, and others are copied.
    const alone = indices.filter((index) => !isShared(index));
    const made = uploadAll(
      this.#client,
      alone.map((index) => packing.join(index, (member) => given.get(member))),
    );
    const shared = indices.filter(isShared);
    for (const [member, value] of given) given.set(member, copyTensor(value));
    try {
      const bases = await settleAll(shared.map((index) => this.buffer(index).beginDownload()));
      const joined = shared.map((index, at) => packing.join(index, (member) => given.get(member), bases[at]));
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

/** Uploads all, or none if it throws. */
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
