import { MpError } from "@mp/graph";
import { WorkQueue } from "@mp/graph/internal";
import type { InferenceSession, Tensor } from "onnxruntime-web/webgpu";
import { LossWatch } from "./device-loss.js";
import { engineError } from "./engine-error.js";
import { GpuMemory, type GpuTensor } from "./gpu-memory.js";
import type { OpenDevice } from "./open-device.js";

/** The part of the module `onnxruntime-web/webgpu` that is used. */
export interface OrtWeb {
  readonly env: { readonly versions: { readonly web?: string } };
  readonly InferenceSession: {
    create(model: Uint8Array, options: InferenceSession.SessionOptions): Promise<InferenceSession>;
  };
  readonly Tensor: typeof Tensor;
}

/** Buffers by the model's names. */
export type Buffers = Iterable<readonly [name: string, tensor: GpuTensor]>;

/** A session, and whether all its nodes run on the GPU. The engine does not tell which run elsewhere. */
export interface Loaded {
  readonly session: InferenceSession;
  readonly isOnGpu: boolean;
}

/** Options of a session that does not load if any node would run on the processor. */
const ON_GPU_ONLY = { session: { disable_cpu_ep_fallback: "1" } };

/** Matches the engine's refusal of a model that would not run wholly on the GPU. */
const NOT_WHOLE = /fallback to CPU EP has been explicitly disabled/i;

/** Serializes calls, because the engine allows one at a time, for all devices together. */
const calls = new WorkQueue();

/** onnxruntime-web on one device. */
export class WebEngine {
  readonly memory: GpuMemory;
  readonly version: string;
  readonly features: GPUSupportedFeatures;
  readonly #ort: OrtWeb;
  readonly #opened: OpenDevice;
  readonly #loss: LossWatch;
  readonly #releases = new Set<Promise<unknown>>();

  constructor(ort: OrtWeb, opened: OpenDevice) {
    this.#ort = ort;
    this.features = opened.device.features;
    this.#opened = opened;
    this.#loss = new LossWatch(opened.device);
    this.memory = new GpuMemory(opened.device, this.#loss);
    this.version = ort.env.versions.web ?? "";
  }

  /** @throws MP_UNSUPPORTED, MP_BACKEND_FAILED or MP_OUT_OF_MEMORY, depending on the engine's message */
  async load(model: Uint8Array): Promise<Loaded> {
    try {
      return { session: await this.#session(model, ON_GPU_ONLY), isOnGpu: true };
    } catch (error) {
      if (!MpError.is(error) || !NOT_WHOLE.test(error.message)) throw error;
      return { session: await this.#session(model, {}), isOnGpu: false };
    }
  }

  #session(model: Uint8Array, extra: Readonly<Record<string, unknown>>): Promise<InferenceSession> {
    return this.#call("the session", () =>
      this.#ort.InferenceSession.create(model, {
        executionProviders: [
          {
            name: "webgpu",
            preferredLayout: "NCHW",
            device: this.#opened.device,
          } as InferenceSession.WebGpuExecutionProviderOption,
        ],
        graphOptimizationLevel: "disabled",
        // Results are bound in advance; without this option the engine would not bind them.
        preferredOutputLocation: "gpu-buffer",
        // The log would only name nodes on the processor, or repeat the error that the engine throws.
        logSeverityLevel: 4,
        extra,
      }),
    );
  }

  /** Runs a session with all inputs and outputs bound to buffers. */
  async run(session: InferenceSession, inputs: Buffers, outputs: Buffers): Promise<void> {
    const feeds = this.#wrapped(inputs, session.inputMetadata);
    const fetches = this.#wrapped(outputs, session.outputMetadata);
    await this.#call("run", () => session.run(feeds, fetches));
  }

  /** Releases a session without waiting; `close` waits. */
  release(session: InferenceSession): void {
    const releasing = calls.push(() => session.release()).catch(() => undefined);
    this.#releases.add(releasing);
    void releasing.then(() => this.#releases.delete(releasing));
  }

  /** Waits for all releases, and closes the device if the backend opened it; no other call may follow. */
  async close(): Promise<void> {
    await Promise.all(this.#releases);
    if (this.#opened.isOwn) this.#opened.device.destroy();
  }

  #call<R>(what: string, work: () => Promise<R>): Promise<R> {
    return calls.push(async () => {
      this.#loss.expectAlive();
      try {
        return await this.#loss.orLost(work());
      } catch (error) {
        throw MpError.is(error) ? error : engineError(what, error);
      }
    });
  }

  #wrapped(buffers: Buffers, metadata: readonly InferenceSession.ValueMetadata[]): Record<string, Tensor> {
    const types = new Map(metadata.map((entry) => [entry.name, entry]));
    const wrapped: Record<string, Tensor> = {};
    for (const [name, { buffer }] of buffers) {
      const type = types.get(name);
      // The engine has removed inputs that no node reads.
      if (type?.isTensor !== true) continue;
      wrapped[name] = this.#ort.Tensor.fromGpuBuffer(buffer, {
        dataType: type.type as Tensor.GpuBufferDataTypes,
        dims: type.shape as readonly number[],
      });
    }
    return wrapped;
  }
}
