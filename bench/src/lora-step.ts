/**
 * Times a LoRA step of a Llama of 31 M parameters (batch 4, 256 tokens, rank 8 on q_proj and v_proj), as
 * peers/lora_step.py does with peft: `node bench/dist/lora-step.js [ort|openvino] [f32|bf16|int8|nf4]
 * [float32|mixed_bfloat16] [rounds]`.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openvino } from "@mp/backend-openvino";
import { ort } from "@mp/backend-ort";
import { adamW, float32, key, mixedBfloat16, type Tensor, tensor, trainer } from "@mp/core";
import { lora } from "@mp/nn/adapters";
import { causalLm, loadCausalLm, nextTokenLoss, saveCausalLm } from "@mp/nn/transformers";

const [engine = "openvino", base = "bf16", precision = "mixed_bfloat16", rounds = "15"] =
  process.argv.slice(2);
const [BATCH, TIME, WARM_UP] = [4, 256, 3];
const ENGINES = { ort, openvino };
const PRECISIONS = { float32, mixed_bfloat16: mixedBfloat16 };
const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] as number;

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
const { model, params } = await loadCausalLm(folder, { base: base as "bf16" });
await rm(folder, { recursive: true });

const adapted = lora(model, { rank: 8, alpha: 8, targets: ["q_proj", "v_proj"] });
const backend = await ENGINES[engine as keyof typeof ENGINES]();
const ids = tensor(
  Int32Array.from({ length: BATCH * TIME }, (_, at) => (at * 37) % model.sizes.vocabulary),
  [BATCH, TIME],
);
const training = await trainer({
  backend,
  params: { base: params, adapters: adapted.init(key(1)) },
  frozen: { base: true },
  precision: PRECISIONS[precision as keyof typeof PRECISIONS](),
  loss: (trained, input: { readonly ids: Tensor }, context) =>
    nextTokenLoss(adapted.apply(trained.adapters, trained.base, input, context), input.ids),
  optimizer: adamW({ learningRate: 1e-3 }),
});
const times: number[] = [];
const losses: number[] = [];
for (let round = -WARM_UP; round < Number(rounds); round++) {
  const start = performance.now();
  const { loss } = await training.step({ ids });
  if (round < 0) losses.push(loss);
  else times.push(performance.now() - start);
}
const peak = ((await training.peakBytes()) ?? 0) / 2 ** 20;
console.log(
  `${engine} ${base} ${precision}: ${median(times).toFixed(1)} ms, peak ${peak.toFixed(1)} MiB, losses ${losses.join(", ")}`,
);
await training.dispose();
await backend.dispose();
