import { type HostTensor, MpError } from "@mp/graph";
import type { Program } from "@mp/graph/backend";
import { breathe } from "./breathe.js";
import type { ConstantPool } from "./constant-pool.js";
import type { ProgramModule } from "./module.js";
import { type Client, DeviceBuffer, type NativeExecutable, settle, settleAll } from "./pjrt/index.js";
import type { DeviceState } from "./state.js";

interface ProgramParts {
  readonly client: Client;
  readonly module: ProgramModule;
  readonly executable: NativeExecutable;
  readonly state: DeviceState | undefined;
  readonly constants: readonly DeviceBuffer[];
  readonly pool: ConstantPool;
  readonly isDonating: boolean;
}

/** What a handle or an input of a run is. Small values wait on the host, and go to the device along with others. */
export type Stored = DeviceBuffer | HostTensor;

type Inputs = Readonly<Record<string, Stored>>;

/** A compiled program. It replaces the buffers of its state while it runs. */
export class DeviceProgram implements Program<Stored> {
  readonly #parts: ProgramParts;
  readonly #read: ReadonlySet<string>;

  /** Takes ownership of the executable and one use of the constants. */
  constructor(parts: ProgramParts) {
    this.#parts = parts;
    this.#read = new Set(parts.module.inputs.names);
  }

  isRead(input: string): boolean {
    return this.#read.has(input);
  }

  async run(inputs: Inputs): Promise<Readonly<Record<string, HostTensor>>> {
    const { module, state } = this.#parts;
    state?.expectWhole();
    const { written, results, done } = this.#begin(inputs);
    const { isDonating } = this.#parts;
    // The old buffers are gone already if they were donated.
    if (isDonating) state?.replace(module.writes, written);
    let contents: readonly HostTensor[];
    try {
      contents = await this.#collect(results, done);
    } catch (error) {
      if (!isDonating) for (const buffer of written) buffer.release();
      else if (written.length > 0) state?.lose(error);
      throw error;
    }
    if (!isDonating) state?.replace(module.writes, written);
    const { names, packing } = module.results;
    const value = (index: number): HostTensor => {
      return packing.part(index, contents[packing.locationOf(index).buffer] as HostTensor);
    };
    const { rangeFlag } = module;
    if (rangeFlag !== undefined && value(rangeFlag).data[0] === 0) throw outOfRange();
    await breathe();
    return Object.fromEntries(names.map((name, index) => [name, value(index)]));
  }

  dispose(): void {
    const { executable, module, pool } = this.#parts;
    executable.release();
    pool.release(module.constants);
  }

  /** Begins the run. If it throws, the state has its values, or it is lost. */
  #begin(inputs: Inputs): {
    readonly written: readonly DeviceBuffer[];
    readonly results: readonly DeviceBuffer[];
    readonly done: readonly bigint[];
  } {
    const { client, executable, module, state, constants, isDonating } = this.#parts;
    const { writes, reads } = module;
    if (isDonating && writes.length > 0) expectMemory(client, executable);
    const uploaded: DeviceBuffer[] = [];
    try {
      const fed = feed(client, module, inputs, uploaded);
      const kept = reads.map((index) => (state as DeviceState).buffer(index));
      const { outputs, done } = executable.execute([...kept, ...fed, ...constants]);
      return { written: outputs.slice(0, writes.length), results: outputs.slice(writes.length), done };
    } catch (error) {
      if (writes.some((index) => state?.buffer(index).isDonated)) state?.lose(error);
      throw error;
    } finally {
      // The plugin keeps what it still reads.
      for (const buffer of uploaded) buffer.release();
    }
  }

  /** Copies the results to the host, releases them, and waits for the end of the run. */
  async #collect(results: readonly DeviceBuffer[], done: readonly bigint[]): Promise<readonly HostTensor[]> {
    const { plugin } = this.#parts.client;
    try {
      const downloads = results.map((buffer) => buffer.beginDownload());
      const ends = done.map((event) => () => settle(plugin, event)?.then(() => undefined));
      return (await settleAll<HostTensor | undefined>([...downloads, ...ends])) as readonly HostTensor[];
    } finally {
      for (const buffer of results) buffer.release();
    }
  }
}

/** The buffers of a program's inputs. @param uploaded gets those that were made here */
function feed(
  client: Client,
  { inputs: { names, packing }, divided }: ProgramModule,
  inputs: Inputs,
  uploaded: DeviceBuffer[],
): readonly DeviceBuffer[] {
  const memberValue = (index: number): Stored => inputs[names[index] as string] as Stored;
  return packing.buffers.map(({ members: [first = 0] }, buffer) => {
    const only = memberValue(first);
    if (only instanceof DeviceBuffer) return only;
    const joined = packing.join(buffer, (index) => memberValue(index) as HostTensor);
    const made = client.upload(joined, divided.has(buffer));
    uploaded.push(made);
    return made;
  });
}

/** @throws MP_OUT_OF_MEMORY for a run that would fail for want of memory, and take the donated state along */
function expectMemory(client: Client, { workBytes }: NativeExecutable): void {
  const freeBytes = client.freeBytes();
  if (freeBytes === undefined || workBytes <= freeBytes) return;
  const message = `xla: a run takes ${workBytes} bytes besides its arguments, and ${freeBytes} are free on the device`;
  throw new MpError("MP_OUT_OF_MEMORY", message, { details: { neededBytes: workBytes, freeBytes } });
}

const outOfRange = (): MpError =>
  new MpError(
    "MP_OUT_OF_RANGE",
    "xla: an index, a label or a divisor of the data is out of range; the state is as it was",
  );
