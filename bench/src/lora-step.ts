/**
 * Measures a fine-tuning step of a Llama of 31 M parameters, as `peers/lora_step.py` does with peft: `node
 * bench/dist/lora-step.js --engine openvino --base bf16`. The base `full` is f32 and trained without adapters.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openvino } from "@mp/backend-openvino";
import { ort } from "@mp/backend-ort";
import { adamW, float32, key, mixedBfloat16, type Tensor, tensor, trainer } from "@mp/core";
import { planMemory } from "@mp/core/report";
import { causalLm, loadCausalLm, nextTokenLoss, saveCausalLm } from "@mp/language-models";
import { lora } from "@mp/nn/adapters";
import { median } from "./statistics.js";
import { time } from "./timing.js";

const { values } = parseArgs({
  options: {
    engine: { type: "string", default: "ort" },
    base: { type: "string", default: "bf16" },
    precision: { type: "string", default: "mixed_bfloat16" },
    batch: { type: "string", default: "4" },
    tokens: { type: "string", default: "256" },
    targets: { type: "string", default: "q_proj,v_proj" },
    remat: { type: "string", default: "none" },
    rounds: { type: "string", default: "15" },
  },
});
const ENGINES = { ort, openvino };
const PRECISIONS = { float32, mixed_bfloat16: mixedBfloat16 };
const WARM_UP = 3;
const [batch, tokens] = [Number(values.batch), Number(values.tokens)];

const fresh = causalLm({
  model_type: "llama",
  vocab_size: 8192,
  hidden_size: 384,
  intermediate_size: 1536,
  num_hidden_layers: 12,
  num_attention_heads: 6,
  max_position_embeddings: 512,
  tie_word_embeddings: true,
});
const folder = await mkdtemp(join(tmpdir(), "mp-lora-step-"));
await saveCausalLm(folder, fresh, fresh.init(key(0)));
const backend = await ENGINES[values.engine as keyof typeof ENGINES]();
const opened = process.memoryUsage().rss;
const isWhole = values.base === "full";
const { model, params } = await loadCausalLm(folder, {
  base: isWhole ? "f32" : (values.base as "bf16"),
  remat: values.remat as "none",
});
await rm(folder, { recursive: true });
const targets = values.targets === "all-linear" ? values.targets : values.targets.split(",");
const adapted = lora(model, { rank: 8, alpha: 8, targets });
const training = await trainer({
  backend,
  params: { base: params, adapters: isWhole ? {} : adapted.init(key(1)) },
  frozen: isWhole ? {} : { base: true },
  precision: PRECISIONS[values.precision as keyof typeof PRECISIONS](),
  loss: ({ base, adapters }, input: { readonly ids: Tensor }, context) => {
    const logits = isWhole
      ? model.apply(base, input, context)
      : adapted.apply(adapters, base, input, context);
    return nextTokenLoss(logits, input.ids);
  },
  optimizer: adamW({ learningRate: 1e-3 }),
});
const ids = tensor(
  Int32Array.from({ length: batch * tokens }, (_, at) => (at * 37) % model.sizes.vocabulary),
  [batch, tokens],
);
const times: number[] = [];
for (let round = -WARM_UP; round < Number(values.rounds); round++) {
  const { loss } = await time(round < 0 ? [] : times, () => training.step({ ids }));
  if (round < 0) console.error(`loss ${loss}`);
}
const plan = planMemory(training.graph({ ids }), {
  manifest: backend.manifest,
  precision: training.precision,
});
const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(0);
const peak = await training.peakBytes();
console.log(
  `${values.engine} ${values.base} ${values.precision} ${batch} × ${tokens}: ${median(times).toFixed(1)} ms`,
  `planned ${megabytes(plan.peak)} MB, measured ${peak === undefined ? "-" : megabytes(peak)} MB,`,
  `process ${megabytes(process.resourceUsage().maxRSS * 1024 - opened)} MB`,
);
await training.dispose();
await backend.dispose();
