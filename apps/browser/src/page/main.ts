import { paint, SIDE } from "../digits/paint.js";
import { fitToSquare, type Stroke } from "../digits/stroke.js";
import { writeDigit } from "../digits/write-digit.js";
import { histories } from "./history.js";
import { keepOffline } from "./keep-offline.js";
import { type FromWorker, RUNS, type RunName, type ToWorker } from "./messages.js";
import { Paper } from "./paper.js";
import { saveFile } from "./save-file.js";
import { byId, View } from "./view.js";

/** Steps between two reports of the gradients' ranges. */
const REPORT_EVERY = 100;

const view = new View();
const runs = histories();
const worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
const send = (message: ToWorker): void => worker.postMessage(message);

let isTraining = false;
let image: Float32Array | undefined;
/** Number of answers that are still to come; a new drawing waits for them. */
let asked = 0;
let isWaiting = false;

const answers: { readonly [K in FromWorker["type"]]: (message: Extract<FromWorker, { type: K }>) => void } = {
  opened: ({ runs }) => {
    view.showEngines(runs);
    setTraining(true);
  },
  step: (step) => {
    runs[step.run].add(step);
    view.redraw(runs);
    if (step.run === "float16" && step.step % REPORT_EVERY === 1) send({ type: "report" });
  },
  accuracy: ({ run, accuracy }) => {
    runs[run].accuracy = accuracy;
    if (run === "float16") classify();
  },
  paused: () => view.say("Paused."),
  report: ({ gradients }) => view.showGradients(gradients),
  checkpoint: ({ run, step, bytes }) => saveFile(`digits-${run}-step-${step}.safetensors`, bytes),
  classified: ({ run, probabilities }) => {
    view.showReading(run, probabilities);
    asked--;
    if (asked === 0 && isWaiting) classify();
  },
  failed: ({ message }) => {
    view.showFailure(message);
    isTraining = false;
    view.setTraining(false);
  },
};

worker.onmessage = ({ data }: MessageEvent<FromWorker>) =>
  (answers[data.type] as (message: FromWorker) => void)(data);
worker.onerror = ({ message }) => view.showFailure(message);

function setTraining(isWanted: boolean): void {
  isTraining = isWanted;
  view.setTraining(isWanted);
  sendTraining();
}

/** Tells the worker to train or to pause. A hidden tab pauses, because training starts without a click. */
function sendTraining(): void {
  send({ type: isTraining && !document.hidden ? "train" : "pause" });
}

function classify(): void {
  isWaiting = asked > 0;
  if (image === undefined || isWaiting) return;
  asked = RUNS.length;
  send({ type: "classify", image });
}

function readDrawing(strokes: readonly Stroke[]): void {
  if (strokes.length === 0) {
    image = undefined;
    view.showNothing();
    return;
  }
  image = new Float32Array(SIDE * SIDE);
  paint(strokes, image);
  classify();
}

function showExample(): void {
  paper.show(fitToSquare(writeDigit(Math.floor(Math.random() * 10), Math.random)));
}

const paper = new Paper(byId("paper", HTMLCanvasElement), readDrawing);

byId("clear", HTMLButtonElement).onclick = () => paper.show([]);
byId("example", HTMLButtonElement).onclick = showExample;
byId("train", HTMLButtonElement).onclick = () => setTraining(!isTraining);
document.onvisibilitychange = sendTraining;
for (const run of RUNS) saveButton(run).onclick = () => send({ type: "checkpoint", run });

function saveButton(run: RunName): HTMLButtonElement {
  return byId(`save-${run}`, HTMLButtonElement);
}

send({
  type: "open",
  engine: new URLSearchParams(location.search).get("engine") === "reference" ? "reference" : "webgpu",
});
showExample();
await keepOffline(byId("offline", HTMLElement));
