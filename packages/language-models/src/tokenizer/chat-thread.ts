/** The thread that renders chats: the first chat opens it, and it ends after a while without any. */
import { once } from "node:events";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { MpError } from "@mp/core";
import { WorkQueue } from "@mp/graph/internal";

/** Opening takes seconds, a rendering milliseconds. */
const OPEN_MS = 300_000;
const RENDER_MS = 10_000;
const IDLE_MS = 60_000;
const MAX_MIB = 512;

const queue = new WorkQueue();
let thread: Worker | undefined;
let idle: NodeJS.Timeout | undefined;

/**
 * Sends a request to `python/render.py` and waits for the answer. Requests are answered one by one.
 * @throws MP_BACKEND_UNAVAILABLE if Python cannot be loaded
 * @throws Error for a rendering that takes too much time or memory, or ends the thread
 */
export const askPython = (request: string): Promise<string> =>
  queue.push(async () => {
    clearTimeout(idle);
    try {
      thread ??= await open();
      thread.postMessage(request);
      const answer = await nextMessage(thread, RENDER_MS);
      if (answer === "") throw new Error(`it takes more memory than ${MAX_MIB} MiB`);
      return answer;
    } catch (error) {
      // The next chat opens another thread, with the memory of a new one.
      endThread();
      throw error;
    } finally {
      idle = setTimeout(endThread, IDLE_MS).unref();
    }
  });

/** Does not wait for the end: Bun's threads do not end while they compute. */
function endThread(): void {
  void thread?.terminate();
  thread = undefined;
}

async function open(): Promise<Worker> {
  // By the package's name, which works from the sources and from the built files.
  const file = createRequire(import.meta.url).resolve("@mp/language-models/worker");
  const worker = new Worker(pathToFileURL(file), {
    workerData: { maxBytes: MAX_MIB * 2 ** 20 },
    resourceLimits: { maxOldGenerationSizeMb: 256 },
    // Python sees nothing of the process, and what it reports of its own failures is not printed.
    env: {},
    stdout: true,
    stderr: true,
    // A thread that runs a file refuses the flags of `node --input-type=module -e …`.
    ...(process.execArgv.some((flag) => flag.startsWith("--input-type")) ? { execArgv: [] } : {}),
  });
  // An error while nobody waits is followed by the end of the thread.
  worker.on("error", () => {});
  worker.on("exit", () => {
    if (thread === worker) thread = undefined;
  });
  try {
    await nextMessage(worker, OPEN_MS);
    return worker;
  } catch (cause) {
    void worker.terminate();
    throw new MpError(
      "MP_BACKEND_UNAVAILABLE",
      "chat templates are rendered by Jinja2 in pyodide, which cannot be loaded; npm install pyodide@314.0.7",
      { details: { package: "pyodide" }, cause },
    );
  }
}

/** Waits for a message. Only a thread that is waited for keeps the process alive. */
async function nextMessage(worker: Worker, limitMs: number): Promise<string> {
  worker.ref();
  const over = new AbortController();
  const end = (reason: string) => over.abort(new Error(reason));
  const exit = () => end("it ends its thread");
  worker.once("exit", exit);
  // A message that came while this thread was busy is taken before `setImmediate`.
  const timer = setTimeout(() => setImmediate(end, `it takes longer than ${limitMs / 1000} s`), limitMs);
  try {
    const [message] = await once(worker, "message", { signal: over.signal });
    return message;
  } catch (error) {
    throw over.signal.reason ?? error;
  } finally {
    clearTimeout(timer);
    worker.off("exit", exit);
    worker.unref();
  }
}
