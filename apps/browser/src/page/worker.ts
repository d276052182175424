// Trains on a worker thread. Messages are handled in their order, between steps.
import { openEngines } from "./engines.js";
import type { FromWorker, ToWorker } from "./messages.js";
import { Runs } from "./runs.js";

/** The part of a worker's global scope that is used; the DOM's types, which the page has, know only a window's. */
const scope = globalThis as unknown as {
  onmessage: (event: MessageEvent<ToWorker>) => void;
  postMessage(message: FromWorker, transfer: readonly Transferable[]): void;
};

const send = (message: FromWorker): void =>
  scope.postMessage(message, message.type === "checkpoint" ? [message.bytes.buffer] : []);

let opened: Promise<Runs> | undefined;

async function open(engine: "webgpu" | "reference"): Promise<Runs> {
  const engines = await openEngines(engine);
  const runs = await Runs.open(engines, send);
  const describe = ({ engine, remark }: (typeof engines)["float32"]) => ({ engine, remark });
  send({
    type: "opened",
    runs: { float32: describe(engines.float32), float16: describe(engines.float16) },
  });
  return runs;
}

async function answer(message: ToWorker): Promise<void> {
  if (message.type === "open") {
    opened = open(message.engine);
    await opened;
    return;
  }
  const runs = await opened;
  switch (message.type) {
    case "train":
      return runs?.train();
    case "pause":
      return runs?.pause();
    case "report":
      return runs?.report();
    case "checkpoint":
      return runs?.checkpoint(message.run);
    case "classify":
      return runs?.classify(message.image as Float32Array<ArrayBuffer>);
  }
}

scope.onmessage = ({ data }) => {
  answer(data).catch((error: unknown) => {
    send({ type: "failed", message: error instanceof Error ? error.message : String(error) });
  });
};
