import { type HostTensor, MpError } from "@mp/graph";
import type { Program } from "@mp/graph/backend";
import { breathe } from "./breathe.js";
import type { ConstantPool } from "./constant-pool.js";
import { IN_RANGE, type ProgramModule, type ResultName } from "./module.js";
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

/** A tensor behind a handle, or an input of a run. Small ones wait on the host and are uploaded together. */
export type Stored = DeviceBuffer | HostTensor;

type Inputs = Readonly<Record<string, Stored>>;

/** A compiled program. A run replaces the buffers of the program's state. */
export class DeviceProgram implements Program<Stored> {
  readonly #parts: ProgramParts;

  /** Takes ownership of the executable, and of one use of each constant. */
  constructor(parts: ProgramParts) {
    this.#parts = parts;
  }

  isRead(input: string): boolean {
    return this.#parts.module.inputs.types.has(input);
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
    const value = (name: ResultName): HostTensor =>
      module.results.part(name, (index) => contents[index] as HostTensor);
    if (module.results.types.has(IN_RANGE) && value(IN_RANGE).data[0] === 0) throw outOfRange();
    await breathe();
    return Object.fromEntries(module.names.map((name) => [name, value(name)]));
  }

  dispose(): void {
    const { executable, module, pool } = this.#parts;
    executable.release();
    pool.release(module.constants);
  }

  /** Begins a run. If this throws, the state keeps its values or is marked as lost. */
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
      // The plugin keeps buffers alive that the run still reads.
      for (const buffer of uploaded) buffer.release();
    }
  }

  /** Waits for the end of the run, copies the results to the host and releases them on the device. */
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

/** Returns the buffers of a program's inputs. @param uploaded receives the buffers that this call made */
function feed(
  client: Client,
  { inputs: packing, divided }: ProgramModule,
  inputs: Inputs,
  uploaded: DeviceBuffer[],
): readonly DeviceBuffer[] {
  return packing.buffers.map(({ members: [first = ""] }, buffer) => {
    const only = inputs[first];
    if (only instanceof DeviceBuffer) return only;
    const joined = packing.join(buffer, (name) => inputs[name] as HostTensor);
    const made = client.upload(joined, divided.includes(buffer));
    uploaded.push(made);
    return made;
  });
}

/** @throws MP_OUT_OF_MEMORY for a run that would fail for lack of memory, and so lose the donated state */
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
