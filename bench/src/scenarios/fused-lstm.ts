import { float32, mixedBfloat16 } from "@mp/core";
import { LSTM_FORMS, type LstmForm } from "../workloads/basic-lstm.js";
import { wordModel } from "../workloads/word-model.js";
import { interleaved } from "./interleaved.js";
import type { Scenario } from "./scenario.js";

/** The default sizes of `apps/word-lm`. */
const SIZES = { time: 20, vocabulary: 4000, cells: 200, layers: 2 };
const BATCHES = [4, 20, 80];
const PRECISIONS = {
  float32: { make: float32, dtype: "f32" },
  mixed_bfloat16: { make: mixedBfloat16, dtype: "bf16" },
} as const;

interface Part {
  readonly precision: PrecisionName;
  readonly batch: number;
}
type PrecisionName = keyof typeof PRECISIONS;

const PARTS: Readonly<Record<string, Part>> = Object.fromEntries(
  (["float32", "mixed_bfloat16"] as const).flatMap((precision) =>
    BATCHES.map((batch) => [`${precision}, batch ${batch}`, { precision, batch }]),
  ),
);

/** A training step of the word model with its LSTMs fused, and with basic ones, in turn in one process. */
export const fusedLstm: Scenario = {
  title: `the fused LSTM beside basic ones: ${SIZES.layers} layers of ${SIZES.cells}, sequence ${SIZES.time}, ${SIZES.vocabulary} words`,
  parts: Object.keys(PARTS),
  run: async ({ backend, part, quick }) => {
    const { precision, batch } = PARTS[part] as Part;
    const { make, dtype } = PRECISIONS[precision];
    const support = backend.manifest.dtypes[dtype];
    // Emulated halves are no faster than float32, and have no figures here.
    if ("unsupported" in support || support.compute === "emulated") return { figures: {} };
    const sizes = quick ? { ...SIZES, batch: 2, time: 3, cells: 8 } : { ...SIZES, batch };
    const trainings = await Promise.all(
      LSTM_FORMS.map(async (form) => {
        const training = await wordModel(sizes, form).train(backend, make());
        return [form, training] as const;
      }),
    );
    const steps = trainings.map(([form, training]) => [form, () => training.step()] as const);
    const figures = await interleaved(
      Object.fromEntries(steps) as Readonly<Record<LstmForm, () => Promise<unknown>>>,
      quick ? { warmup: 1, steps: 2 } : { warmup: 3, steps: 15 },
    );
    for (const [, training] of trainings) await training.dispose();
    return { figures };
  },
  report: (measured) =>
    fusedLstm.parts.flatMap((part) => {
      const fused = measured(part, "fused");
      return [
        ...LSTM_FORMS.map((form) => ({ name: `${part}: ${form}`, value: measured(part, form), unit: "ms" })),
        ...LSTM_FORMS.filter((form) => form !== "fused").map((form) => ({
          name: `${part}: ${form}, of fused`,
          value: measured(part, form) / fused,
          unit: "times",
        })),
      ];
    }),
};
