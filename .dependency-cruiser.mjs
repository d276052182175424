/** What may import what: the order of folders in each package, and the packages that stand below training. */
import { existsSync } from "node:fs";

/**
 * The folders of each package's `src`, the lowest first. A file imports from its own folder and from those listed before
 * it, types included and tests not; a folder with a list beside it imports from the folders of that list alone. `.` is
 * `src` itself without `index.ts`, which is above all.
 * @type {Readonly<Record<string, readonly (string | [folder: string, imports: string])[]>>}
 */
const FOLDERS = {
  safetensors: ["sha256", ".", "file"],
  graph: [
    ".", // what every folder uses: dtypes, shapes, trees, errors, checks of arguments and options
    "float-format", // the formats of floats: rounding, bits, units in the last place
    "host", // tensors in the memory of JavaScript
    "graph", // what a graph is made of, and what is known of each operator: attributes, dtypes, casts, cost
    "contract", // what a graph's user and an engine agree on: the interface of a backend, its manifest
    "graph/infer", // the types of an operator's results, one file per family
    "graph/build", // graphs built, copied, rewritten node by node, and validated
    // what graph passes do with loops
    ["graph/scan", "graph graph/build"],
    // what backends share: checks, states, storages, bindings, runs
    ["backend", ". host graph contract graph/infer graph/build"],
    // a backend made of one kernel per operator
    ["kernel-backend", ". host graph contract graph/infer backend"],
    // how the reference stores, indexes and rounds elements
    ["reference/elements", ". float-format host graph kernel-backend"],
    // the reference's kernels, one file per family
    ["reference/kernels", ". graph graph/infer reference/elements"],
    // the oracle: graphs evaluated in plain TypeScript
    ["reference", ". host graph contract backend kernel-backend reference/elements reference/kernels"],
    // graphs that find out what an engine's kernels get wrong
    ["probe", ". float-format host graph graph/build reference"],
    "trace", // functions of tensors recorded as graphs
    "trace/ops", // the operators that users call, one file per family, and compositions of them
    // random numbers by key
    ["trace/random", ". host graph graph/build trace trace/ops"],
    "gradient/rules", // the gradient of each operator, one file per family
    "gradient", // gradients of graphs and of traced functions
    "transform", // passes from graph to graph: folding, fusing, ordering, expanding
    "transform/halves", // halves emulated in float32, and operators computed in float32
    "entries", // one file per entry of the package
  ],
  core: [
    // tensors as safetensors, in files or bytes
    ["checkpoint", ""],
    // tensors in formats of 8 and 4 bits, and products of such tensors
    ["quantize", ""],
    "cast", // mixed precision: policies, where casts go and why
    // the formats that optimizers store their state in
    ["optim/states", ""],
    // optimizers
    ["optim", "optim/states"],
    // learning rates by step
    ["optim/schedules", "optim"],
    "precision", // presets of mixed precision, loss scalers, master weights
    "train/weights", // what is done with trees of weights and of their optimizer state: masks of frozen parameters, the moving average, the parts of a divided update, shares below the range of a dtype, numbers that are not finite; knows no run
    "train/definition", // what a step is: its definition, the loss's types, the training state and its slots, programs traced from them, results and warnings
    "train/metrics", // metrics of a whole data set: traced with a batch, accumulated on the host
    "train/programs/finite", // whether what an update writes is finite, in as few checks as show it
    "train/programs", // what is traced: forward and backward, unscaling, update, the programs of a step, of evaluation and of prediction
    "train/batch", // what the caller gives, checked: batches as an engine takes them, index ranges, the parts of the options
    "train/callbacks", // what `fit` calls: the interface of callbacks, their checks, their states in checkpoints
    "train/data", // the loop over data: sources, the feed of steps, `fit`, `steps`, `evaluateAll`
    "train/compile", // programs compiled on the engine and kept, and the queue of calls
    "train/diagnosis", // where a step stopped being finite, and why
    "train/report/counts", // values of a graph counted by exponent, within a graph
    "train/report", // the precision report: ranges of values, scales, casts and memory of a step
    "train/objective", // what runs on the engine: the initial state, steps and windows of one objective, reading weights, rates
    "train/checkpoint/file", // a checkpoint as a file or bytes: its format, settings, parts of ranks, weights
    "train/checkpoint/refit", // a checkpoint fitted to a run of other masks, groups or optional state
    "train/checkpoint", // saving and loading the state of a run, with all checks
    "train/ranks/shard", // the update divided among ranks
    "train/ranks", // what the processes of a run do together
    "train/run", // a run of the trainer: its steps, loops over data, checkpoints
    "train", // the trainer and its options
    "predict", // predictors: weights for inference, without a training state
    "compat", // the names of other frameworks: scalers, updaters, communicators
    "entries", // one file per entry of the package
  ],
  "backend-openvino": [
    "native", // calls into OpenVINO's library
    ".", // the backend
    "probe", // what the library at hand computes, and findings kept on disk
  ],
  "backend-ort": [
    "native", // calls into ONNX Runtime's library
    ".", // the backend
    "probe", // what the library at hand supports
  ],
  "backend-tfjs": [
    "proto", // TensorFlow's messages, generated
    "load", // tfjs-node found and checked
    "graph", // TensorFlow's graphs: nodes, edges, variables
    "lowerings", // each operator in TensorFlow's, one file per family, and whole programs
    "saved-model", // a program as a SavedModel
    "session", // programs run by TensorFlow, and the tensors that it has
    "probe", // what the TensorFlow at hand gets wrong
    ".", // the backend
  ],
  "backend-web": [
    ".", // the backend
  ],
  "backend-xla": [
    // calls into a plugin, by the PJRT interface
    ["pjrt", ""],
    // the text of StableHLO
    ["stablehlo", ""],
    // each operator as StableHLO, one file per family, and whole graphs
    ["lowerings", "stablehlo"],
    // what the compiler has made of a program
    ["compiled", "pjrt"],
    ".", // the backend
    "deviceless", // programs compiled for a device that is not there
    "entries", // one file per entry of the package
  ],
  callbacks: [
    ".",
    "log",
    "monitor",
    "checkpoints",
    "progress",
    "proto", // TensorBoard's messages, generated
    "tensor-board",
    "mlflow", // MLflow's REST interface
    "rate", // the search for a learning rate
  ],
  cli: [".", "corpus", "training"],
  conformance: [
    ".", // what every case uses: its interface, random numbers, errors
    "tolerance", // how far an engine's results may be from the reference's
    "compare", // results compared with the reference's
    "samples", // inputs of every operator, one table per family
    "cases/kinds", // cases made from a description
    "cases/integers",
    "cases/rewrites",
    "cases/families", // one claim for many operators or programs
    "cases/families/programs",
    "cases/rare",
    "cases",
    "training", // what cases that train share
    "training/cases",
    "ranks",
    "suite",
    "entries",
  ],
  data: [".", "boxes", "image", "prefetch", "rows", "shapes", "tables", "text"],
  doctor: ["inspect", "machine", "engines", "step", "diagnosis", "print", "."],
  hub: ["."],
  "language-models": ["decoders", "generate", "tokenizer"],
  libopenvino: ["."],
  libtensorflow: ["."],
  libxla: ["."],
  mpi: [".", "command", "nccl"],
  nn: [".", "metrics", "safetensors", "fields", "quantized", "adapters", "timm", "entries"],
  onnx: [
    "proto", // ONNX's messages, generated
    ".", // files as models and back: element types, limits, external data, metadata
    // a graph as a model, one file per family
    ["write", "."],
    // what every reader of a node uses
    ["read/node", "."],
    // operators of ONNX that core composes from its own
    ["read/compositions", ". read/node"],
    // RNN, GRU and LSTM
    ["read/recurrent", ". read/node"],
    "read", // a model as a graph, one file per family
    "trainable", // a model as parameters and a function that trains
    "export", // a traced function as a file for other runtimes
    "entries", // the entry for backends
  ],
  "onnx-lowering": [
    "lowerings", // what ONNX Runtime lacks or computes differently, one file per family
    // a writer that puts other nodes in place of those that an engine computes wrongly
    ["replacing", "lowerings"],
    // what the WebGPU provider lacks
    ["webgpu", "lowerings replacing"],
    // what the CUDA provider lacks
    ["cuda", "lowerings webgpu"],
    // what other engines compute differently, as the probe finds it
    ["differences", "lowerings replacing webgpu"],
    ".", // a graph lowered for a device: its rules, how it stores values, the order of nodes
    "probe", // what the engine at hand gets wrong, as a manifest
    // what a backend keeps beside a lowered model: state, constants, bindings
    ["program", "."],
  ],
  report: [".", "plots", "charts", "sections"],
  "tfjs-layers": [".", "layers", "read"],
  wheels: ["."],
};

/** Packages that an engine's author needs, which do without training. */
const WITHOUT_CORE =
  "graph|backend-[a-z]+|onnx-lowering|libopenvino|libtensorflow|libxla|wheels|hub|mpi|tfjs-layers";

/** A package by its name, where it is not built, and by its folder. @param {string} names */
const packages = (names) => `^(@mp|packages)/(${names})(/|$)`;

/** @param {string} source @param {string} folder */
const filesIn = (source, folder) => `^${source}/${folder === "." ? "(?!index\\.ts$)" : `${folder}/`}[^/]+$`;

const orderOfFolders = Object.entries(FOLDERS).flatMap(([name, rooms]) => {
  const source = `packages/${name}/src`;
  const folders = rooms.map((one) => [one].flat()[0]);
  const gone = folders.find((folder) => !existsSync(new URL(`${source}/${folder}`, import.meta.url)));
  if (gone !== undefined) throw new Error(`.dependency-cruiser.mjs: ${source}/${gone} does not exist`);
  const listed = [`^${source}/index\\.ts$`, ...folders.map((folder) => filesIn(source, folder))];
  return [
    ...rooms.map((one, index) => {
      const [folder, list = folders.slice(0, index).join(" ")] = [one].flat();
      const imports = list === "" ? [] : list.split(" ");
      return {
        name: `${name}-${folder === "." ? "root" : folder}`,
        comment: `${source}/${folder} imports from ${imports.join(", ") || "no other folder"}`,
        from: { path: filesIn(source, folder) },
        to: {
          path: `^${source}/`,
          pathNot: [folder, ...imports].map((allowed) => filesIn(source, allowed)),
        },
      };
    }),
    {
      name: `${name}-unlisted`,
      comment: `a folder of ${source} is not in the list of .dependency-cruiser.mjs`,
      from: {},
      to: { path: `^${source}/`, pathNot: listed },
    },
    {
      name: `${name}-unlisted-importer`,
      comment: `a folder of ${source} is not in the list of .dependency-cruiser.mjs`,
      from: { path: `^${source}/`, pathNot: listed },
      to: {},
    },
  ];
});

const orderOfPackages = [
  {
    name: "core-needs-little",
    comment: "@mp/core depends on @mp/graph and @mp/safetensors alone",
    from: { path: "^packages/core/src/" },
    to: { pathNot: packages("core|graph|safetensors"), dependencyTypesNot: ["core"] },
  },
  {
    name: "graph-needs-less",
    comment: "@mp/graph depends on nothing",
    from: { path: "^packages/graph/src/" },
    to: { pathNot: packages("graph"), dependencyTypesNot: ["core"] },
  },
];

const belowTraining = [
  {
    name: "no-training-below",
    comment: "engines, lowerings and installers stand on @mp/graph, without @mp/core",
    from: { path: `^packages/((${WITHOUT_CORE})/src/|onnx/src/((proto|write|entries)/)?[^/]+$)` },
    to: { path: packages("core") },
  },
  {
    name: "no-training-in-conformance",
    comment: "only @mp/conformance/training needs @mp/core",
    from: { path: "^packages/conformance/src/(index|entries/(?!training)[a-z-]+)\\.ts$" },
    to: { path: packages("core"), reachable: true },
  },
];

export default {
  forbidden: [
    ...orderOfFolders,
    ...orderOfPackages,
    ...belowTraining,
    {
      name: "unresolved",
      comment: "an import leads nowhere",
      from: {},
      to: { couldNotResolve: true, pathNot: "^(@mp|packages)/" },
    },
  ].map((rule) => ({ severity: "error", ...rule })),
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.base.json" },
    exclude: { path: "\\.test(-d)?\\.ts$" },
    doNotFollow: { path: "node_modules|/dist/" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["types", "import", "node", "default"],
    },
  },
};
