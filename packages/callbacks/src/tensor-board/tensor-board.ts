import type { FitEpoch } from "@mp/core/fit";
import type { PrecisionReport } from "@mp/core/report";
import { checks, readOptions, withDefault } from "@mp/graph/internal";
import type { AnyCallback } from "../any-callback.js";
import { DataType } from "../proto/event_pb.js";
import { readScalars, type Scalars } from "../scalars.js";
import { EventFile, type TaggedValue, tagsAt } from "./event-file.js";
import { exponentSummary } from "./exponent-summary.js";

/** Options of `tensorBoard`: what is written besides numbers, and how often. */
export interface TensorBoardOptions {
  /** Iterations between steps that are written; default 1. Validations are always written. */
  readonly every?: number;
  /** Texts by tag, written once at the start: settings, a command line. TensorBoard reads them as Markdown. */
  readonly text?: Readonly<Record<string, string>>;
  /** Histograms of the exponents of gradients; default none. */
  readonly histograms?: HistogramsOptions;
}

/** Histograms of the gradients' exponents: how often to write them, and the function that makes their report. */
export interface HistogramsOptions {
  /** Iterations between histograms; default 500. */
  readonly every?: number;
  /**
   * Makes the report from the step's first batch: `(batch) => training.precisionReport(batch)`. A report changes no
   * state and takes as long as a few steps.
   */
  readonly report: (batch: never) => Promise<PrecisionReport>;
}

const HISTOGRAMS = { every: withDefault(500, checks.count), report: checks.callback };

const OPTIONS = {
  every: withDefault(1, checks.count),
  text: withDefault(
    {},
    checks.claim(
      "an object of strings by tag",
      (value) =>
        typeof value === "object" &&
        value !== null &&
        Object.values(value).every((text) => typeof text === "string"),
    ),
  ),
  histograms: (what: string, value: unknown) => {
    if (value !== undefined) readHistograms(what, value as HistogramsOptions);
  },
};

const readHistograms = (what: string, options: HistogramsOptions) =>
  readOptions<HistogramsOptions, typeof HISTOGRAMS>(what, options, HISTOGRAMS, {
    example: "{ report: (batch) => training.precisionReport(batch) }",
  });

/**
 * Writes event files that TensorBoard shows (`tensorboard --logdir`): the numbers of the steps under `train/`, those of
 * validations under `validation/`, texts, and histograms of the exponents of gradients under `exponents/`, over log2 of
 * the magnitude. Each call of `fit` makes a new file in the folder; each event is in it before the next step begins. In
 * a resumed run TensorBoard shows repeated steps once.
 * @throws MP_INVALID_ARGUMENT for invalid options; `fit` rejects with MP_IO for a folder that cannot be written
 */
export function tensorBoard(folder: string, options: TensorBoardOptions = {}): AnyCallback {
  checks.path("tensorBoard: folder", folder);
  const read = readOptions<TensorBoardOptions, typeof OPTIONS>("tensorBoard", options, OPTIONS, {
    example: "{ every: 10 }",
    elsewhere: { logDir: "the folder is the first argument" },
  });
  const { every, text } = read;
  const histograms = read.histograms && readHistograms("tensorBoard: histograms", read.histograms);
  let file: EventFile | undefined;
  // A checkpoint may be saved before the validation of its step, and the resumed run repeats that validation.
  let written: { readonly step: number; readonly tags: ReadonlySet<string> } = { step: 0, tags: new Set() };
  const write = ({ step }: Pick<FitEpoch, "step">, values: readonly TaggedValue[]): void =>
    file?.write(
      step,
      values.filter(({ tag = "" }) => step !== written.step || !written.tags.has(tag)),
    );
  return {
    onStart: (start) => {
      const { step } = start;
      written = { step, tags: step === 0 ? new Set() : tagsAt(folder, step) };
      file = new EventFile(folder);
      file.begin(step);
      write(start, Object.entries(text).map(textValue));
    },
    onStep: async (step) => {
      if (step.step % every === 0) write(step, scalarValues("train", readScalars(step)));
      if (histograms !== undefined && step.step % histograms.every === 0) {
        write(step, histogramValues(await histograms.report(step.batches[0] as never)));
      }
    },
    onValidation: (validation) => write(validation, scalarValues("validation", readScalars(validation))),
    onEnd: () => {
      file?.close();
      file = undefined;
    },
  };
}

const scalarValues = (group: string, scalars: Scalars): readonly TaggedValue[] =>
  Object.entries(scalars).map(([name, value]) => ({
    tag: `${group}/${name}`,
    value: { case: "simpleValue", value },
  }));

const textValue = ([tag, text]: readonly [string, string]): TaggedValue => ({
  tag,
  metadata: { pluginData: { pluginName: "text" } },
  value: {
    case: "tensor",
    value: { dtype: DataType.DT_STRING, tensorShape: {}, stringVal: [new TextEncoder().encode(text)] },
  },
});

function histogramValues({ groups }: PrecisionReport): readonly TaggedValue[] {
  return groups.flatMap(({ kind, layer, dtype, histogram }) => {
    if (kind !== "gradients" && kind !== "weight gradients") return [];
    const summary = exponentSummary(histogram);
    if (summary === undefined) return [];
    return [
      { tag: `exponents/${kind}/${layer} ${dtype}`, value: { case: "histo" as const, value: summary } },
    ];
  });
}
