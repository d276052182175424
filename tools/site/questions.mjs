/**
 * The questions that readers type into the site's search, and the places that answer them: a page with all its
 * sections, or one section of a long page.
 * @type {Readonly<Record<string, readonly string[]>>}
 */
export const QUESTIONS = {
  "freeze layers": [
    "/docs/guide#freeze-layers",
    "/docs/guide#fine-tuning",
    "/docs/fine-tuning#two-rates-and-a-frozen-part",
  ],
  "multi-GPU": ["/docs/engines#several-gpus-or-machines", "/docs/many-processes"],
  MacBook: ["/docs/engines#a-macbook-or-another-mac"],
  "gradient accumulation": ["/docs/guide#larger-batches-gradient-accumulation"],
  "save and restore": ["/docs/guide#data-saving-and-resuming"],
  "which precision": ["/docs/guide#precision"],
  "why was my step skipped": ["/docs/guide#why-a-step-was-skipped", "/docs/errors#mp_non_finite"],
  "mixed precision inference": ["/docs/serving"],
  TensorBoard: ["/docs/callbacks"],
  CSV: ["/docs/callbacks", "/docs/data-sets"],
  browser: ["/docs/engines#a-browser", "/packages/backend-web/"],
  worker: ["/docs/engines#a-worker-deno-or-bun"],
  "learning rate": ["/docs/guide#optimizers", "/docs/guide#rates-that-you-set", "/docs/optimizers"],
  checkpoint: [
    "/docs/guide#checkpoints",
    "/docs/guide#data-saving-and-resuming",
    "/docs/serving#what-a-checkpoint-holds",
  ],
  GPU: ["/docs/engines#a-gpu", "/packages/backend-ort/#a-gpu-through-webgpu"],
  NVIDIA: ["/docs/engines#an-nvidia-gpu-cuda", "/packages/backend-ort/#options-for-cuda"],
  Keras: ["/docs/coming-from", "/docs/from-tfjs"],
  overflow: ["/docs/guide#loss-scaling"],
  "loss is NaN": ["/docs/not-learning"],
  "loss does not fall": ["/docs/not-learning"],
  "gradient clipping": ["/docs/guide#gradient-clipping"],
  "early stopping": ["/docs/callbacks#early-stopping-the-best-checkpoint-a-lower-rate"],
  "dropout train eval mode": ["/docs/guide#training-or-evaluation-the-context-of-the-loss"],
  "class weights imbalanced data": ["/docs/evaluation#imbalanced-classes-class-weights"],
  FP8: ["/docs/recipes"],
};
