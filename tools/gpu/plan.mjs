// Lists what to run on the machine, most important first, since time on a borrowed GPU may end before the list.

/**
 * How a job's result is read: `line` is the last line of its output, as JSON; `bench` and `app` are the file that the
 * benchmark or the app writes; `suite` is the conformance suite's report.
 *
 * @typedef {object} Job
 * @property {string} id unique, and the key of its result in the file
 * @property {string} part
 * @property {"line" | "bench" | "app" | "suite"} answer
 * @property {string} program relative to the pack
 * @property {readonly string[]} args
 * @property {readonly string[]} [peers] the forms of PyTorch to run beside ours
 */

/**
 * @typedef {object} Wanted
 * @property {string} device
 * @property {boolean} small
 * @property {number} rounds
 * @property {boolean} hasTorch whether a PyTorch was found that runs on the device
 * @property {boolean} hasXla whether a plugin of XLA was found for the device
 */

/**
 * @typedef {object} Bench
 * @property {string} workload
 * @property {readonly string[]} [among] the precisions; default all of the device
 * @property {readonly string[]} [flags]
 * @property {readonly string[]} [beside] the peers to run beside; default PyTorch as it is
 */

export const DEVICES = ["cuda", "webgpu", "cpu"];
export const PARTS = [
  "xla",
  "probe",
  "word-lm",
  "encoder",
  "resnet-50",
  "operators",
  "conformance",
  "largest-batch",
  "fused-lstm",
  "torch-compile",
  "workloads",
  "app",
];

const FLOAT32 = "float32";
const HALVES = ["mixed_float16", "mixed_bfloat16"];
/** WebGPU has no bfloat16. */
const PRECISIONS = {
  cuda: [FLOAT32, ...HALVES],
  cpu: [FLOAT32, ...HALVES],
  webgpu: [FLOAT32, "mixed_float16"],
};
/** PyTorch has no WebGPU, and computes float16 on a GPU alone. */
const hasPeers = (/** @type {string} */ device, /** @type {string} */ precision) =>
  device === "cuda" || (device === "cpu" && precision !== "mixed_float16");
const NO_PEERS = /** @type {readonly string[]} */ ([]);
/** The form of PyTorch that starts at once; torch.compile takes minutes to start. */
const PLAIN = ["torch"];

/** Cells and batch sizes of the word model, those that answer the most questions first. */
const SWEEP = [
  [1024, 128],
  [2048, 512],
  [4096, 1024],
  [1024, 1024],
  [4096, 128],
  [2048, 128], // biome-ignore format: pairs
  [1024, 512],
  [4096, 512],
  [2048, 1024],
  [1024, 256],
  [2048, 256],
  [4096, 256], // biome-ignore format: pairs
];
const TINY_SWEEP = [[16, 2]];

/** Sizes of a run on a GPU, and those of `--small`, which only show that everything runs. */
const SIZES = {
  full: {
    sweep: SWEEP,
    word: (/** @type {number} */ cells, /** @type {number} */ batch) =>
      `cells=${cells},batch=${batch},time=20`,
    encoder: "layers=12,size=768,heads=12,hidden=3072,batch=32,vocabulary=30522",
    resnet: "batch=128",
    dense: "w1",
    products: "w1:size=8192,batch=8192",
    mostBatch: 65_536,
    workloads: ["w1", "w2", "w3", "w4"],
    app: ["--cells", "1536", "--steps", "300"],
    suiteShare: 1,
  },
  small: {
    sweep: TINY_SWEEP,
    word: (/** @type {number} */ cells, /** @type {number} */ batch) =>
      `cells=${cells},batch=${batch},time=3,vocabulary=50`,
    encoder: "layers=1,size=16,heads=2,hidden=32,batch=2,vocabulary=50,time=8",
    resnet: "batch=2,size=32,width=2,classes=5",
    dense: "w1:size=16,batch=2",
    products: "w1:size=32,batch=32",
    mostBatch: 4,
    workloads: ["w1:size=16,batch=2", "w3:batch=2,size=8"],
    app: ["--cells", "8", "--steps", "3", "--vocab", "100"],
    suiteShare: 40,
  },
};

/** @param {Wanted} wanted @returns {readonly Job[]} */
export function makePlan({ device, small, rounds, hasTorch, hasXla }) {
  const sizes = small ? SIZES.small : SIZES.full;
  const precisions = /** @type {Record<string, readonly string[]>} */ (PRECISIONS)[device] ?? [];
  const halves = precisions.filter((precision) => precision !== FLOAT32);
  const [first = [0, 0], second = first, third = second] = sizes.sweep;
  const word = (/** @type {readonly number[]} */ [cells = 0, batch = 0]) => `w2:${sizes.word(cells, batch)}`;
  const [encoder, resnet] = [`w4:${sizes.encoder}`, `w5:${sizes.resnet}`];

  /** @param {string} part @param {string} name @param {Bench} bench @returns {readonly Job[]} one in each precision */
  const bench = (part, name, { workload, among = precisions, flags = [], beside = PLAIN }) =>
    among.map((precision) => ({
      id: `${part}/${name}/${precision}`,
      part,
      answer: "bench",
      program: "bench/dist/main.js",
      args: [workload, "--precision", precision, "--device", device, ...counts(small, rounds), ...flags],
      peers: hasTorch && hasPeers(device, precision) ? beside : [],
    }));
  /** Profiles our step by operator, in the mixed precisions. @param {string} name @param {string} workload */
  const operators = (name, workload) =>
    bench("operators", name, { workload, among: halves, flags: ["--operators"], beside: NO_PEERS });
  /** @param {readonly number[]} pair */
  const wordModel = (pair) =>
    bench("word-lm", `cells ${pair[0]}, batch ${pair[1]}`, { workload: word(pair) });
  /** @param {string} part @param {string} engine @returns {readonly Job[]} */
  const probe = (part, engine, id = `probe/${engine}`) => [
    { id, part, answer: "line", program: "tools/gpu/probe.mjs", args: [engine, device] },
  ];
  /** @param {string} part @param {string} engine @returns {readonly Job[]} */
  const conformance = (part, engine, id = `conformance/${engine}`) => [
    {
      id,
      part,
      answer: "suite",
      program: "tools/gpu/conformance.mjs",
      args: [engine, device, String(sizes.suiteShare)],
    },
  ];
  const largest = word([third[0] ?? 0, first[1] ?? 0]);
  const compiled = [
    { name: "word model", workload: word(first) },
    { name: "encoder", workload: encoder },
    { name: "ResNet-50", workload: resnet },
  ];
  /** @param {string} name @param {string} workload @param {readonly string[]} among @param {readonly string[]} [beside] */
  const xla = (name, workload, among, beside = PLAIN) =>
    bench("xla", name, { workload, among, flags: ["--backend", "xla"], beside });
  const [bfloat16, float16] = [["mixed_bfloat16"], ["mixed_float16"]];

  // One job of each kind comes first: they fit into a loan of ten minutes with --rounds 1.
  return [
    ...(hasXla
      ? [
          ...probe("xla", "xla", "xla/probe"),
          {
            id: "xla/kept programs",
            part: "xla",
            answer: /** @type {const} */ ("line"),
            program: "tools/gpu/kept-programs.mjs",
            args: [device],
          },
          ...xla("encoder", encoder, bfloat16),
          ...xla("ResNet-50", resnet, float16),
          // The same workloads on ONNX Runtime, in the same run.
          ...bench("xla", "encoder on ONNX Runtime", {
            workload: encoder,
            among: bfloat16,
            beside: NO_PEERS,
          }),
          ...bench("xla", "ResNet-50 on ONNX Runtime", {
            workload: resnet,
            among: float16,
            beside: NO_PEERS,
          }),
          ...xla("dense layers", sizes.dense, bfloat16),
          ...xla("word model", word(first), bfloat16),
          ...xla("word model, large", word(third), [FLOAT32, ...bfloat16]),
          ...xla("large products", sizes.products, bfloat16),
          ...conformance("xla", "xla", "xla/conformance"),
          ...xla("encoder, torch.compile", encoder, bfloat16, ["torch-compile"]),
          ...xla("encoder", encoder, [FLOAT32, ...float16]),
          ...xla("ResNet-50", resnet, [FLOAT32, ...bfloat16]),
        ]
      : []),
    ...probe("probe", "ort"),
    ...wordModel(first),
    ...bench("encoder", "base size", { workload: encoder }),
    ...bench("resnet-50", "batch 128", { workload: resnet }),
    ...operators("encoder", encoder),
    ...conformance("conformance", "ort"),
    ...sizes.sweep.slice(1).flatMap(wordModel),
    ...operators("word model", word(second)),
    ...operators("ResNet-50", resnet),
    ...bench("largest-batch", `cells ${third[0]}`, {
      workload: largest,
      flags: ["--largest-batch", String(sizes.mostBatch)],
    }),
    ...["w2", "w2-by-step", "w2-by-gate"].flatMap((form) =>
      bench("fused-lstm", form, { workload: word(first).replace("w2", form), beside: NO_PEERS }),
    ),
    // torch.compile takes minutes to start on a processor; one model is enough to show that it runs.
    ...compiled
      .slice(0, small ? 1 : 3)
      .flatMap(({ name, workload }) => bench("torch-compile", name, { workload, beside: ["torch-compile"] })),
    ...sizes.workloads.flatMap((workload) => bench("workloads", workload, { workload })),
    ...precisions.map((precision) => ({
      id: `app/word-lm/${precision}`,
      part: "app",
      answer: /** @type {const} */ ("app"),
      program: "apps/word-lm/dist/main.js",
      args: ["--device", device, "--precision", precision, ...sizes.app],
    })),
  ];
}

/** @param {boolean} small @param {number} rounds */
function counts(small, rounds) {
  return small
    ? ["--rounds", "1", "--warmup", "1", "--steps", "3", "--seconds", "2", "--idle-seconds", "0"]
    : ["--rounds", String(rounds), "--seconds", "10", "--idle-seconds", "10"];
}

/** Formats the plan: for each job its id, and the command that runs it. @param {readonly Job[]} jobs */
export function planText(jobs) {
  return jobs
    .map(({ id, program, args, peers = [] }) => {
      const beside = peers.length === 0 ? "" : ` --against ${peers.join(",")}`;
      return `  ${id}\n      node ${program} ${args.map(quote).join(" ")}${beside}`;
    })
    .join("\n");
}

/** Quotes a word for a shell. @param {string} word */
function quote(word) {
  return /^[\w./,:=-]+$/.test(word) ? word : `'${word}'`;
}
