import { on } from "node:events";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { type HostTensor, MpError, tensor } from "@mp/core";
import type { Json } from "@mp/core/fit";
import { type Check, claim, integer, optionsCheck } from "../check-arguments.js";
import { type BatchIterator, type Dataset, toDataset, withCursor } from "../dataset.js";
import type { LabeledImages } from "../image/labeled-images.js";
import { type Answer, reviveBatch, reviveError, type WorkerTask } from "./messages.js";

export interface WorkerDatasetOptions {
  /** Number of batches made before they are requested, 1 to 1024. */
  readonly ahead: number;
  /** Passed to the module's function `dataset` by structured clone. */
  readonly options?: unknown;
}

/** The check of a number of batches to make ahead. Limited, because each batch is held in memory. */
export const ahead: Check = integer(1, 1024);

const checkModule = claim(
  'a URL such as new URL("./data.js", import.meta.url)',
  (value) => value instanceof URL,
);
const checkOptions = optionsCheck<WorkerDatasetOptions>({ ahead, options: () => {} }, "{ ahead: 2 }");

/**
 * Runs a dataset on another thread. The module at a URL such as `new URL("./my-data.js", import.meta.url)` exports
 * `dataset(options)`, which returns a `Dataset` or a promise of one. Batches are plain values and tensors; order,
 * content and cursors are those of that dataset. A cursor for other data is refused at the first batch. The thread
 * starts with the first batch, ends with the pass, and does not keep the process alive.
 * @throws MP_INVALID_ARGUMENT for a value that is not a URL, or an `ahead` outside 1 … 1024
 */
export function workerDataset<B>(module: URL, settings: WorkerDatasetOptions): Dataset<B> {
  checkModule("workerDataset: module", module);
  checkOptions("workerDataset", settings);
  const { options, ahead } = settings;
  return toDataset((cursor, pass) =>
    iterateThread({ module: module.href, options, cursor: cursor ?? undefined, pass }, cursor ?? null, ahead),
  );
}

/** Runs `imageBatches` on another thread; `plain` is the same dataset on this thread, which checks cursors. */
export function prefetchImages<B>(
  plain: Dataset<B>,
  images: LabeledImages,
  options: unknown,
  ahead: number,
): Dataset<B> {
  // Shared, so that not every pass copies the data; made when the first pass starts.
  let shared: LabeledImages | undefined;
  return toDataset((cursor, pass) => {
    const start = plain.iterate(cursor, pass).cursor;
    shared ??= { x: sharing(images.x), y: sharing(images.y) };
    return iterateThread({ images: shared, options, cursor, pass }, start, ahead);
  }, plain.dropped);
}

function iterateThread<B>(task: WorkerTask, start: Json, ahead: number): BatchIterator<B> {
  let cursor = start;
  async function* run(): AsyncGenerator<B, undefined> {
    const worker = new Worker(workerUrl(), { workerData: task, ...threadFlags() });
    // An abandoned iterator must not keep the process alive; a batch that is awaited must.
    worker.unref();
    const answers = on(worker, "message", { close: ["exit"] });
    try {
      for (let credit = 0; credit < ahead; credit++) worker.postMessage("next");
      for (;;) {
        worker.postMessage("next");
        worker.ref();
        const { value, done } = await answers.next();
        worker.unref();
        if (done) throw new MpError("MP_DISPOSED", "prefetch: the thread that makes the batches has ended");
        const [answer] = value as [Answer];
        if (answer.kind === "end") return undefined;
        if (answer.kind === "error") throw reviveError(answer.error);
        cursor = answer.cursor;
        yield reviveBatch(answer.batch) as B;
      }
    } finally {
      await worker.terminate();
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
