import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { type HostTensor, MpError, tensor } from "@mp/core";
import type { Json } from "@mp/core/fit";
import { type Check, claim, integer, optional, optionsCheck } from "../check-arguments.js";
import { type BatchIterator, type Dataset, toDataset, withCursor } from "../dataset.js";
import type { LabeledImages } from "../image/labeled-images.js";
import { type Answer, reviveBatch, reviveError, type WorkerTask } from "./messages.js";

export interface PrefetchOptions {
  /** Number of batches made before they are requested, 1 to 1024. */
  readonly ahead: number;
  /** Ends the thread when aborted; a pending batch then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

export interface WorkerDatasetOptions extends PrefetchOptions {
  /** Passed to the module's function `dataset` by structured clone. */
  readonly options?: unknown;
}

/** Limited, because each batch is held in memory. */
const ahead = integer(1, 1024);
const signal = optional(claim("an AbortSignal", (value) => value instanceof AbortSignal));

const checkModule = claim(
  'a URL such as new URL("./data.js", import.meta.url)',
  (value) => value instanceof URL,
);
const checkWorkerOptions = optionsCheck<WorkerDatasetOptions>(
  { ahead, signal, options: () => {} },
  "{ ahead: 2 }",
);
const checkPrefetchOptions = optionsCheck<PrefetchOptions>({ ahead, signal }, "2 or { ahead: 2 }");

/** Checks the option `prefetch` of `imageBatches`: a number, or options. */
export const prefetching: Check = (what, value) =>
  typeof value === "number" ? ahead(what, value) : checkPrefetchOptions(what, value);

/**
 * Runs a dataset on another thread. The module at a URL such as `new URL("./my-data.js", import.meta.url)` exports
 * `dataset(options)`, which returns a `Dataset` or a promise of one. Batches are plain values and tensors; order,
 * content and cursors are those of that dataset. A cursor for other data is refused at the first batch. The thread
 * starts with the first batch, ends with the pass, and does not keep the process alive.
 * @throws MP_INVALID_ARGUMENT for a value that is not a URL, or an `ahead` outside 1 … 1024
 */
export function workerDataset<B>(module: URL, settings: WorkerDatasetOptions): Dataset<B> {
  checkModule("workerDataset: module", module);
  checkWorkerOptions("workerDataset", settings);
  const { options, ...prefetch } = settings;
  return toDataset((cursor, pass) =>
    iterateThread(
      { module: module.href, options, cursor: cursor ?? undefined, pass },
      cursor ?? null,
      prefetch,
    ),
  );
}

/** Runs `imageBatches` on another thread; `plain` is the same dataset on this thread, which checks cursors. */
export function prefetchImages<B>(
  plain: Dataset<B>,
  images: LabeledImages,
  options: unknown,
  prefetch: number | PrefetchOptions,
): Dataset<B> {
  const settings = typeof prefetch === "number" ? { ahead: prefetch } : prefetch;
  // Shared, so that not every pass copies the data; made when the first pass starts.
  let shared: LabeledImages | undefined;
  return toDataset((cursor, pass) => {
    const start = plain.iterate(cursor, pass).cursor;
    shared ??= { x: sharing(images.x), y: sharing(images.y) };
    return iterateThread({ images: shared, options, cursor, pass }, start, settings);
  }, plain.dropped);
}

function iterateThread<B>(task: WorkerTask, start: Json, options: PrefetchOptions): BatchIterator<B> {
  const { ahead, signal } = options;
  let cursor = start;
  async function* run(): AsyncGenerator<B, undefined> {
    signal?.throwIfAborted();
    const thread = new Thread(task, signal);
    try {
      for (let credit = 0; credit < ahead; credit++) thread.ask();
      for (;;) {
        thread.ask();
        const answer = await thread.next();
        if (answer.kind === "end") return undefined;
        if (answer.kind === "error") throw reviveError(answer.error);
        cursor = answer.cursor;
        yield reviveBatch(answer.batch) as B;
      }
    } finally {
      await thread.end();
    }
  }
  return withCursor(run(), () => cursor);
}

/**
 * Drops the flags of `node --input-type=module -e …`, which a thread that runs a file refuses. Otherwise flags are
 * inherited: Node checks explicit ones, and refuses those of V8.
 */
function threadFlags(): { readonly execArgv?: string[] } {
  return process.execArgv.some((flag) => flag.startsWith("--input-type")) ? { execArgv: [] } : {};
}

/** The worker, with its answers in order. */
class Thread {
  readonly #worker: Worker;
  readonly #signal: AbortSignal | undefined;
  readonly #answers: Answer[] = [];
  #waiting: { resolve(answer: Answer): void; reject(reason: unknown): void } | undefined;
  #failure: { readonly reason: unknown } | undefined;

  constructor(task: WorkerTask, signal: AbortSignal | undefined) {
    this.#worker = new Worker(workerUrl(), { workerData: task, ...threadFlags() });
    // An iterator that is dropped in the middle must not hold the process; while a batch is awaited it has to.
    this.#worker.unref();
    this.#worker.on("message", (answer: Answer) => this.#settle(answer));
    this.#worker.on("error", (error) => this.#fail(error));
    this.#worker.on("exit", () =>
      this.#fail(new MpError("MP_DISPOSED", "prefetch: the thread that makes the batches has ended")),
    );
    this.#signal = signal;
    signal?.addEventListener("abort", this.#abort);
  }

  ask(): void {
    this.#worker.postMessage("next");
  }

  next(): Promise<Answer> {
    const ready = this.#answers.shift();
    if (ready !== undefined) return Promise.resolve(ready);
    if (this.#failure !== undefined) return Promise.reject(this.#failure.reason);
    this.#worker.ref();
    return new Promise<Answer>((resolve, reject) => {
      this.#waiting = { resolve, reject };
    }).finally(() => this.#worker.unref());
  }

  async end(): Promise<void> {
    this.#signal?.removeEventListener("abort", this.#abort);
    await this.#worker.terminate();
  }

  readonly #abort = (): void => {
    this.#answers.length = 0;
    this.#fail(this.#signal?.reason);
    void this.#worker.terminate();
  };

  #settle(answer: Answer): void {
    if (this.#failure !== undefined) return;
    if (this.#waiting === undefined) this.#answers.push(answer);
    else this.#waiting.resolve(answer);
    this.#waiting = undefined;
  }

  #fail(reason: unknown): void {
    this.#failure ??= { reason };
    this.#waiting?.reject(this.#failure.reason);
    this.#waiting = undefined;
  }
}

/** Finds the worker by the package's name, which works from the sources and from the built files. */
function workerUrl(): URL {
  return pathToFileURL(createRequire(import.meta.url).resolve("@mp/data/worker"));
}

function sharing<T extends HostTensor<"u8"> | HostTensor<"i32">>(source: T): T {
  if (source.data.buffer instanceof SharedArrayBuffer) return source;
  const buffer = new SharedArrayBuffer(source.data.byteLength);
  const copy = source.dtype === "u8" ? new Uint8Array(buffer) : new Int32Array(buffer);
  copy.set(source.data);
  return tensor(copy as never, source.shape) as never;
}
