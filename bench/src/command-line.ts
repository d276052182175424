import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { GPU_TARGETS, type GpuTargetName } from "@mp/backend-xla/compile";
import {
  choice,
  type Flag,
  FlagError,
  type FlagValues,
  flagName,
  integer,
  number,
  text,
  toggle,
} from "@mp/cli";
import { DEVICES, ENGINES, type EngineChoice, PEERS, type PeerName, PRECISIONS } from "./job.js";
import { SCENARIOS } from "./scenarios/scenarios.js";
import { readWorkload, type SizedWorkload, WORKLOADS } from "./workloads/workloads.js";

/** The command line was wrong; the message says what is allowed. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

const PEER_NAMES = Object.keys(PEERS) as readonly PeerName[];

const againstFlag: Flag<readonly PeerName[]> = {
  help: `run ${PEER_NAMES.join(", ")} beside ours`,
  argument: "NAME,…",
  default: [],
  parse: (list) =>
    list.split(",").map((name) => {
      const peer = PEER_NAMES.find((known) => known === name);
      if (peer === undefined) throw new FlagError(`expected ${PEER_NAMES.join(", ")}`);
      return peer;
    }),
};

const cudaFlag: Flag<EngineChoice["cuda"]> = {
  help: `options of ONNX Runtime on CUDA: '{"tf32":true}'`,
  argument: "JSON",
  default: undefined,
  parse: (json) => {
    try {
      const value: unknown = JSON.parse(json);
      if (typeof value === "object" && value !== null) return value as EngineChoice["cuda"];
    } catch {
      // Refused below.
    }
    throw new FlagError("expected a JSON object");
  },
};

const TARGETS = Object.keys(GPU_TARGETS) as readonly GpuTargetName[];

const targetFlag: Flag<GpuTargetName | undefined> = {
  help: `compile for a GPU that is not here, with \`compile\`: ${TARGETS.join(", ")}`,
  argument: "GPU",
  default: undefined,
  parse: (name) => {
    const target = TARGETS.find((known) => known === name);
    if (target === undefined) throw new FlagError(`expected ${TARGETS.join(", ")}`);
    return target;
  },
};

const flags = {
  backend: choice(ENGINES, { default: "ort", help: "the engine of ours" }),
  against: againstFlag,
  precision: choice(PRECISIONS, { default: "float32", help: "of all sides" }),
  device: choice(DEVICES, { default: "cpu", help: "of ours and PyTorch's" }),
  cuda: cudaFlag,
  target: targetFlag,
  devices: integer({ default: 1, help: "of that GPU, which divide each batch among them" }),
  flashAttention: toggle({ help: "of XLA on CUDA and of `compile`: cuDNN's attention where it has kernels" }),
  threads: integer({ default: availableParallelism(), help: "of all sides" }),
  rounds: integer({ help: "fresh processes of each side; 3 unless given" }),
  warmup: integer({ help: "steps before the timed ones; 3 unless given" }),
  steps: integer({ help: "timed steps of a process, at most; 40 unless given" }),
  seconds: number({ default: 20, help: "time limit of a process's timed steps" }),
  python: text({
    argument: "PATH",
    help: "interpreter that has the peers; PEER_PYTHON or python3 unless given",
  }),
  idleSeconds: number({ default: 120, help: "wait this long for an idle machine" }),
  operators: toggle({ help: "and time each operator in float32 and in the precision" }),
  largestBatch: integer({ help: "and find the largest batch that fits into the memory, up to N" }),
  results: text({ argument: "DIR", help: "where the JSON goes; bench/results unless given" }),
  quick: toggle({ help: "a few steps once, to see that everything runs; its figures mean nothing" }),
  help: toggle({ help: "show this" }),
};
type Values = FlagValues<typeof flags>;

export interface BenchOptions
  extends Pick<
    Values,
    | "precision"
    | "seconds"
    | "idleSeconds"
    | "operators"
    | "largestBatch"
    | "quick"
    | "target"
    | "devices"
    | "flashAttention"
  > {
  readonly workloads: readonly SizedWorkload[];
  readonly scenarios: readonly string[];
  /** The peers to run for comparison. */
  readonly against: readonly PeerName[];
  readonly choice: EngineChoice;
  /** Number of fresh processes for our steps, and for each peer's. */
  readonly rounds: number;
  readonly warmup: number;
  readonly steps: number;
  /** The Python interpreter that has the peers' packages. */
  readonly python: string;
  readonly results: string;
}

export const HELP: string = `npm run bench -- [WHAT …] [flags]

WHAT is any of
  ${WORKLOADS.join(" ")}          training steps, ours and with --against peers', in alternating fresh processes
  ${Object.keys(SCENARIOS).join(" ")}
                       what the parts of our own step cost
and w1, w2 and all of the last when nothing is named. A workload's sizes may be chosen: w2:cells=1024,batch=128.

compile --target GPU [WORKLOAD …]
                       steps compiled for a GPU that is not here, in float32 (beside float8: in
                       mixed_bfloat16) and in the precision

${Object.entries(flags).map(helpLine).join("\n")}
`;

function helpLine([key, flag]: readonly [string, Flag<unknown>]): string {
  const words = `${flagName(key)} ${flag.argument ?? ""}`.padEnd(28);
  const isGiven = flag.argument !== undefined && flag.default !== undefined && flag !== againstFlag;
  return `  ${words} ${flag.help}${isGiven ? `; default ${flag.default}` : ""}`;
}

/** The workloads of `compile --target` when none is named. */
const COMPILED: readonly string[] = ["w1", "w2", "w3", "w4", "w5"];

const EVERYTHING: readonly string[] = ["w1", "w2", ...Object.keys(SCENARIOS)];

/** Parses the command line; undefined when help is requested. @throws UsageError */
export function parseCommandLine(
  argv: readonly string[],
  defaults: { readonly python: string; readonly results: string },
): BenchOptions | undefined {
  const { values, positionals } = parse(argv);
  if (values.help) return undefined;
  const words = chooseWords(positionals, values);
  const workloads = words.map(workloadAt);
  const unknown = words.find((word, at) => workloads[at] === undefined && !Object.hasOwn(SCENARIOS, word));
  if (unknown !== undefined) {
    throw new UsageError(`${unknown}: expected ${[...WORKLOADS, ...Object.keys(SCENARIOS)].join(", ")}`);
  }
  refuseCombinations(values);
  const {
    backend: engine,
    device,
    threads,
    cuda,
    flashAttention,
    quick,
    rounds,
    warmup,
    steps,
    python,
    results,
  } = values;
  return {
    ...values,
    workloads: workloads.filter((workload) => workload !== undefined),
    scenarios: words.filter((_, at) => workloads[at] === undefined),
    choice: { engine, device, threads, flashAttention, ...(cuda === undefined ? {} : { cuda }) },
    rounds: rounds ?? (quick ? 1 : 3),
    warmup: warmup ?? (quick ? 1 : 3),
    steps: steps ?? (quick ? 3 : 40),
    idleSeconds: quick ? 0 : values.idleSeconds,
    python: python ?? defaults.python,
    results: results ?? defaults.results,
  };
}

/** The words to run, without the `compile` before `--target`; the default ones if none are given. */
function chooseWords(given: readonly string[], { target }: Values): readonly string[] {
  if (target === undefined) return given.length === 0 ? EVERYTHING : given;
  const [first, ...workloads] = given;
  const other = workloads.find((word) => workloadAt(word) === undefined);
  if (first !== "compile" || other !== undefined)
    throw new UsageError(`--target: expected compile and workloads, got ${other ?? first ?? "nothing"}`);
  return workloads.length === 0 ? COMPILED : workloads;
}

function refuseCombinations(values: Values): void {
  const { backend, device, against, precision, threads, target, devices } = values;
  if (devices > 1 && target === undefined) throw new UsageError("--devices: expected with --target");
  if (backend === "tfjs" && device === "webgpu") {
    throw new UsageError("--backend tfjs: TensorFlow has no webgpu");
  }
  if (backend === "openvino" && device !== "cpu") {
    throw new UsageError(`--backend openvino: it has no device but cpu, got ${device}`);
  }
  if (backend === "xla" && device === "cpu" && threads !== availableParallelism()) {
    throw new UsageError(`--threads: XLA's plugin for processors takes all cores, got ${threads}`);
  }
  if (against.includes("keras") && device !== "cpu") {
    throw new UsageError("--against keras: it is run on the CPU only");
  }
  if (against.length > 0 && device === "webgpu") {
    throw new UsageError("--against: no peer runs on webgpu");
  }
  if (against.length > 0 && precision.startsWith("float8")) {
    throw new UsageError(`--against: no peer is run in ${precision}`);
  }
  if (against.length > 0 && precision === "mixed_float16" && device === "cpu") {
    throw new UsageError(
      "--precision mixed_float16: on the CPU the peers are run in float32 and bfloat16 only",
    );
  }
}

function workloadAt(word: string): SizedWorkload | undefined {
  try {
    return readWorkload(word);
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function parse(argv: readonly string[]): {
  readonly values: Values;
  readonly positionals: readonly string[];
} {
  const entries: readonly (readonly [string, Flag<unknown>])[] = Object.entries(flags);
  const options = Object.fromEntries(
    entries.map(([key, { argument }]) => [
      flagName(key).slice(2),
      { type: argument === undefined ? ("boolean" as const) : ("string" as const) },
    ]),
  );
  try {
    const { values, positionals } = parseArgs({ args: [...argv], options, allowPositionals: true });
    const read = entries.map(([key, flag]) => {
      const given = values[flagName(key).slice(2)];
      return [key, given === undefined ? flag.default : readFlag(key, flag, given)];
    });
    return { values: Object.fromEntries(read) as Values, positionals };
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function readFlag(key: string, flag: Flag<unknown>, given: string | boolean): unknown {
  try {
    return flag.parse(String(given));
  } catch (error) {
    if (!(error instanceof FlagError)) throw error;
    throw new UsageError(`${flagName(key)} ${given}: ${error.message}`);
  }
}
