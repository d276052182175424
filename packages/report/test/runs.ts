/** Runs whose pages the tests inspect: real ones on the oracle, and the worst cases for a page. */
import {
  adamW,
  dynamicLossScale,
  float8,
  mapTensors,
  mixedFloat16,
  nvfp4,
  type Optimizer,
  scope,
  type Tensor,
  type Traced,
  tensor,
  trainer,
} from "@mp/core";
import { cast, matMul, reduceMean, relu, square, sub } from "@mp/core/ops";
import { reference } from "@mp/core/reference";
import type { HistoryStep, ReportedRun, SkippedStep } from "../src/index.js";

/** A run with its steps. */
export type MadeRun = ReportedRun & Required<Pick<ReportedRun, "history" | "skips">>;

/** A layer's name that runs as a script if the page does not escape it. */
const HOSTILE = `"><img src=x onerror="document.title='run'"><script>document.title='run'</script>`;

const wave = (shape: readonly number[], step: number) =>
  tensor(
    Float32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => Math.sin(step * (i + 1))),
    shape,
  );
const params = {
  encoder: { first: wave([16, 32], 0.7), second: wave([32, 32], 1.3) },
  [HOSTILE.replaceAll("/", "∕")]: wave([32, 4], 0.3),
};

/** AdamW as a user may write it, with its second moment in float16, not scaled. */
function byHand(): Optimizer {
  const plain = adamW({ learningRate: 3e-3, states: { mean: "u8" }, minU8Elements: 1000 });
  const squareIn = (dtype: "f32" | "f16", { square, ...others }: Record<string, never>) => ({
    ...others,
    square: mapTensors((leaf) => cast(leaf, dtype), square as never),
  });
  return {
    ...plain,
    init: (parameters) => squareIn("f16", plain.init(parameters) as never),
    update: (gradients, state, parameters, context) => {
      const wide = squareIn("f32", state as never);
      const { state: next, ...rest } = plain.update(gradients, wide as never, parameters, context);
      return { ...rest, state: squareIn("f16", next as never) };
    },
  };
}

/** Twenty-four steps at a scale that begins too high, so that some are skipped and replayed. */
async function trainedRun(optimizer: Optimizer): Promise<MadeRun> {
  const backend = await reference();
  const training = await trainer({
    backend,
    params,
    loss: (weights: Traced<typeof params>, { x, y }: { x: Tensor; y: Tensor }) => {
      const { encoder, ...rest } = weights;
      const hidden = scope("encoder", () => {
        const first = scope("first", () => relu(matMul(x, encoder.first)));
        return scope("second", () => relu(matMul(first, encoder.second)));
      });
      const out = scope(HOSTILE, () => matMul(hidden, Object.values(rest)[0] as Tensor));
      return reduceMean(square(sub(out, y)));
    },
    optimizer,
    precision: { ...mixedFloat16(), lossScaler: dynamicLossScale({ initialScale: 2 ** 17 }) },
    onWarning: () => undefined,
  });
  const history: HistoryStep[] = [];
  const skips: SkippedStep[] = [];
  const batchOf = (step: number) => ({ x: wave([8, 16], 0.37 + step), y: wave([8, 4], 0.91 + step) });
  for (let step = 1; step <= 24; step++) {
    const result = await training.step(batchOf(step));
    const { scale, applied } = result;
    history.push(result);
    if (!applied) skips.push({ step, scale, overflow: await training.diagnose([batchOf(step)], { scale }) });
  }
  const recipes = [float8().recipe, nvfp4().recipe];
  const report = await training.precisionReport(batchOf(0), { recipes });
  await training.dispose();
  await backend.dispose();
  const results = { accuracy: "0.75" };
  const date = new Date(Date.UTC(2026, 0, 2, 3, 4));
  return { title: `a run & <its> "name"`, report, history, skips, results, date, facts: { seed: "1" } };
}

/** The same with sixty layers of long names, six thousand steps, scales of all sizes and losses that diverge. */
function largeRun({ report }: MadeRun): MadeRun {
  const groups = Array.from({ length: 60 }, (_, layer) =>
    report.groups.map((group) => ({
      ...group,
      layer: `model/decoder_${layer}/attention_with_a_long_name/${group.layer}`,
    })),
  ).flat();
  const history = Array.from({ length: 6000 }, (_, index) => ({
    step: index + 1,
    loss: index % 7 === 3 ? Number.NaN : 12345.678 * Math.exp(-index / 900) + Math.sin(index),
    scale: 2 ** (index % 1000 < 500 ? 40 : -20),
    applied: index % 13 !== 0,
  }));
  return {
    title: "model".repeat(40),
    report: {
      ...report,
      groups,
      scale: 2 ** 24,
      gradients: { ...report.gradients, recommendedScale: 2 ** 24 },
    },
    history,
    skips: history.slice(0, 3).map(({ step, scale }) => ({ step, scale, overflow: undefined })),
  };
}

/** Makes a run with 36 operators, all at places of their own. */
function longRun(run: MadeRun): MadeRun {
  const { casts } = run.report;
  const nodes = Array.from({ length: 36 }, (_, index) => ({
    node: `layer${index}/MatMul`,
    op: "MatMul" as const,
    scope: `layer${index}`,
    line: `/home/somebody/model.ts:${index + 1}:3`,
    dtype: "f16" as const,
    rule: "allow list" as const,
  }));
  return { ...run, report: { ...run.report, casts: { ...casts, nodes } } };
}

/** A run with almost no data: no step, only zeros, no measured memory. */
function emptyRun({ report }: MadeRun): MadeRun {
  const nothing = { first: 0, counts: [], zeros: 5, infinities: 0, nans: 0, largest: 0 };
  const none = report.gradients.shares.f16.map(({ scale }) => ({
    scale,
    zero: 0,
    subnormal: 0,
    overflow: 0,
  }));
  return {
    title: "",
    report: {
      ...report,
      groups: report.groups.map((group) => ({ ...group, histogram: nothing })),
      gradients: {
        histogram: nothing,
        shares: { f16: none, bf16: none },
        recommendedScale: 1,
        largest: 0,
        largestIn: undefined,
        beyond: undefined,
      },
      memory: { ...report.memory, measuredPeak: null },
      scale: 1,
    },
    history: [],
    skips: [],
  };
}

/** All runs, by name. */
export async function reportedRuns(): Promise<
  Readonly<Record<"trained" | "few" | "large" | "empty" | "long", MadeRun>>
> {
  const trained = await trainedRun(adamW({ learningRate: 3e-3 }));
  const few = await trainedRun(byHand());
  return { trained, few, large: largeRun(trained), empty: emptyRun(trained), long: longRun(trained) };
}
