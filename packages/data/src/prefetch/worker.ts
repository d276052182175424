/** The thread that makes batches. It answers each message with the next batch. `prefetch.ts` starts it. */

import { parentPort, workerData } from "node:worker_threads";
import type { BatchIterator, Dataset } from "../dataset.js";
import { invalid } from "../errors.js";
import { type ImageBatch, imageBatches } from "./image-batches.js";
import { type Answer, sendableError, type WorkerTask } from "./messages.js";

const task = workerData as WorkerTask;
const isOwn = "images" in task;

async function open(): Promise<BatchIterator<unknown>> {
  const { cursor, pass } = task;
  if ("images" in task) return imageBatches(task.images, task.options as never).iterate(cursor, pass);
  const loaded: unknown = await import(task.module);
  const { dataset } = loaded as {
    dataset?: (options: unknown) => Dataset<unknown> | Promise<Dataset<unknown>>;
  };
  if (typeof dataset !== "function") {
    throw invalid(`workerDataset: ${task.module} exports no function dataset(options)`);
  }
  return (await dataset(task.options)).iterate(cursor, pass);
}

let iterator: BatchIterator<unknown> | undefined;

async function answer(): Promise<Answer> {
  try {
    iterator ??= await open();
    const { done, value } = await iterator.next();
    return done === true ? { kind: "end" } : { kind: "batch", batch: value, cursor: iterator.cursor };
  } catch (error) {
    return { kind: "error", error: sendableError(error) };
  }
}

/** Lists the buffers to move to the other thread: those of image batches. A user's batches are copied instead. */
function movable({ batch }: { readonly batch: unknown }): ArrayBuffer[] {
  if (!isOwn) return [];
  const { x, y } = batch as ImageBatch;
  return [x.data.buffer as ArrayBuffer, y.data.buffer as ArrayBuffer];
}

// Messages are answered one after another; a message that comes while a batch is made waits for that batch.
let last: Promise<void> = Promise.resolve();
let isOver = false;
parentPort?.on("message", () => {
  last = last.then(async () => {
    if (isOver) return;
    const reply = await answer();
    isOver = reply.kind !== "batch";
    parentPort?.postMessage(reply, reply.kind === "batch" ? movable(reply) : []);
  });
});
