import { drawBars, drawLines } from "./chart.js";
import { differences, type Histories, histories } from "./history.js";
import { type GradientSummary, type OpenedRun, RUNS, type RunName } from "./messages.js";

/** The element with an id, which must be of the given class. */
export function byId<E extends Element>(id: string, kind: new () => E): E {
  const element = document.getElementById(id);
  if (!(element instanceof kind)) throw new Error(`internal: no ${kind.name} is called ${id}`);
  return element;
}

const labels = {
  engine: "computed on",
  step: "steps",
  loss: "loss, mean of 20 steps",
  accuracy: "accuracy on new digits",
  milliseconds: "milliseconds a step",
  skipped: "skipped steps",
  scale: "loss scale",
} as const;
type Fact = keyof typeof labels;

/** Exponents of f16: numbers below the first have fewer bits, below the second they are 0, above the last infinite. */
const [NORMAL, KEPT, LARGEST] = [-14, -25, 15];

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
const significant = (value: number): string =>
  Math.abs(value) >= 1e-3 || value === 0 ? value.toPrecision(3) : value.toExponential(1);
const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/** Draws the page. */
export class View {
  readonly #facts = new Map<string, HTMLTableCellElement>();
  readonly #bars = new Map<string, HTMLElement>();
  readonly #rows: HTMLLIElement[] = [];
  readonly #readings = new Map<RunName, number>();
  #isDue = false;
  #isTraining = false;

  constructor() {
    const body = byId("facts", HTMLTableSectionElement);
    for (const [fact, label] of Object.entries(labels)) {
      const row = body.insertRow();
      const head = document.createElement("th");
      head.scope = "row";
      head.textContent = label;
      row.append(head);
      for (const run of RUNS) this.#facts.set(`${fact} ${run}`, row.insertCell());
    }
    const list = byId("readings", HTMLOListElement);
    for (let digit = 0; digit < 10; digit++) {
      const row = document.createElement("li");
      const bars = document.createElement("span");
      for (const run of RUNS) {
        const bar = document.createElement("span");
        bar.className = `bar ${run}`;
        bar.style.width = "0";
        this.#bars.set(`${digit} ${run}`, bar);
        bars.append(bar);
      }
      row.append(String(digit), bars);
      this.#rows.push(row);
      list.append(row);
    }
    this.#drawPlots(histories());
    drawBars(byId("gradients", SVGElement), {
      first: 0,
      counts: [],
      classOf: () => "",
      description: "No gradients yet",
    });
  }

  showEngines(runs: Readonly<Record<RunName, OpenedRun>>): void {
    for (const run of RUNS) this.#set("engine", run, runs[run].engine);
    const remarks = new Set(RUNS.flatMap((run) => runs[run].remark ?? []));
    byId("remarks", HTMLUListElement).replaceChildren(
      ...[...remarks].map((remark) => {
        const item = document.createElement("li");
        item.textContent = remark;
        return item;
      }),
    );
    for (const id of ["train", "save-float32", "save-float16"]) byId(id, HTMLButtonElement).disabled = false;
  }

  say(text: string): void {
    byId("status", HTMLElement).textContent = text;
  }

  showFailure(message: string): void {
    this.say(`Failed: ${message}`);
  }

  setTraining(isTraining: boolean): void {
    this.#isTraining = isTraining;
    byId("train", HTMLButtonElement).textContent = isTraining ? "Pause" : "Go on";
    if (isTraining) this.say("Training. The first step takes longest.");
  }

  /** Draws the page at the next frame. */
  redraw(histories: Histories): void {
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      this.#draw(histories);
    });
  }

  #draw(histories: Histories): void {
    for (const run of RUNS) {
      const { losses, accuracy, milliseconds, skipped, scales } = histories[run];
      this.#set("step", run, String(losses.length));
      this.#set("loss", run, losses.length === 0 ? "" : significant(mean(losses.slice(-20))));
      this.#set("accuracy", run, accuracy === undefined ? "after 25 steps" : percent(accuracy));
      this.#set("milliseconds", run, milliseconds === undefined ? "" : milliseconds.toFixed(1));
      this.#set("skipped", run, String(skipped.length));
      this.#set("scale", run, String(scales.at(-1) ?? ""));
    }
    this.#drawPlots(histories);
    if (this.#isTraining && histories.float16.losses.length > 0) this.say("Training.");
  }

  #drawPlots(histories: Histories): void {
    const { losses, skipped, scales } = histories.float16;
    const apart = differences(histories);
    const last = (values: readonly number[]): string => significant(values.at(-1) ?? Number.NaN);
    drawLines(byId("loss", SVGElement), {
      lines: RUNS.map((run) => ({ class: run, values: histories[run].losses })),
      marks: skipped,
      tick: significant,
      description: `Losses, now ${last(histories.float32.losses)} in float32 and ${last(losses)} in float16`,
    });
    drawLines(byId("difference", SVGElement), {
      lines: [{ class: "float16", values: apart }],
      marks: [],
      tick: significant,
      description: `Loss in float16 less that in float32, now ${last(apart)}`,
    });
    drawLines(byId("scale", SVGElement), {
      lines: [{ class: "float16", values: scales.map(Math.log2) }],
      marks: skipped,
      tick: (exponent) => `2^${exponent}`,
      description: `Loss scale, now ${last(scales)}; ${skipped.length} steps were skipped`,
    });
  }

  showGradients({ step, scale, recommendedScale, shares, first, counts }: GradientSummary): void {
    const shift = Math.log2(scale);
    drawBars(byId("gradients", SVGElement), {
      first,
      counts,
      classOf: (exponent) => {
        const scaled = exponent + shift;
        if (scaled > LARGEST) return "infinite";
        if (scaled < KEPT) return "zero";
        return scaled < NORMAL ? "subnormal" : "normal";
      },
      description: `Gradients by binary exponent at step ${step}, from 2^${first} to 2^${first + counts.length - 1}`,
    });
    const losses = shares.map(
      (share) =>
        `with loss scale ${share.scale}, ${percent(share.zero)} are 0 and ${percent(share.subnormal)} lose bits`,
    );
    byId("ranges", HTMLElement).textContent =
      `Step ${step}, sizes before scaling; colors are at loss scale ${scale}. Of the gradients that are not 0: ${losses.join("; ")}. This batch allows ${recommendedScale === null ? "no scale" : `a scale of ${recommendedScale}`}.`;
  }

  showReading(run: RunName, probabilities: readonly number[]): void {
    probabilities.forEach((probability, digit) => {
      const bar = this.#bars.get(`${digit} ${run}`);
      if (bar !== undefined) bar.style.width = percent(probability).replace(" ", "");
    });
    this.#readings.set(run, probabilities.indexOf(Math.max(...probabilities)));
    const [single, half] = RUNS.map((name) => this.#readings.get(name));
    this.#rows.forEach((row, digit) => {
      row.className = digit === single || digit === half ? "best" : "";
    });
    const text =
      single === half ? `Both read ${single}.` : `float32 reads ${single ?? "…"}, float16 ${half ?? "…"}.`;
    byId("reading", HTMLElement).textContent = text;
  }

  showNothing(): void {
    this.#readings.clear();
    for (const bar of this.#bars.values()) bar.style.width = "0";
    for (const row of this.#rows) row.className = "";
    byId("reading", HTMLElement).textContent = "Nothing is drawn yet.";
  }

  #set(fact: Fact, run: RunName, text: string): void {
    const cell = this.#facts.get(`${fact} ${run}`);
    if (cell !== undefined) cell.textContent = text;
  }
}
