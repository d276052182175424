import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import {
  DEVICES,
  ENGINES,
  type EngineChoice,
  PEERS,
  type PeerName,
  PRECISIONS,
  type PrecisionName,
} from "./job.js";
import { SCENARIOS } from "./scenarios/scenarios.js";
import { readWorkload, type SizedWorkload, WORKLOADS } from "./workloads/workloads.js";

export interface BenchOptions {
  readonly workloads: readonly SizedWorkload[];
  readonly scenarios: readonly string[];
  /** The peers to run for comparison. */
  readonly against: readonly PeerName[];
  readonly precision: PrecisionName;
  readonly choice: EngineChoice;
  /** Fresh processes per side. */
  readonly rounds: number;
  readonly warmup: number;
  readonly steps: number;
  readonly seconds: number;
  /** The Python interpreter that has the peers' packages. */
  readonly python: string;
  /** How long to wait for an idle machine before each process. */
  readonly idleSeconds: number;
  readonly results: string;
  /** Whether each workload's operators are timed too, beside float32's. */
  readonly operators: boolean;
  /** The largest batch to try where the largest that fits is searched. */
  readonly largestBatch: number | undefined;
  readonly quick: boolean;
}

/** The command line was wrong; the message says what is allowed. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

const PEER_NAMES = Object.keys(PEERS) as readonly PeerName[];

export const HELP: string = `npm run bench -- [WHAT …] [flags]

WHAT is any of
  ${WORKLOADS.join(" ")}          training steps, ours and with --against peers', in alternating fresh processes
  ${Object.keys(SCENARIOS).join(" ")}
                       what the parts of our own step cost
and w1, w2 and all of the last when nothing is named. A workload's sizes may be chosen: w2:cells=1024,batch=128.

  --backend NAME       ours on ${ENGINES.join(" or ")}; default ort
  --against NAME,…     run ${PEER_NAMES.join(", ")} beside ours
  --precision NAME     ${PRECISIONS.join(", ")}; default float32
  --device NAME        ${DEVICES.join(", ")}: of ours and PyTorch's; default cpu
  --cuda JSON          options of ONNX Runtime on CUDA: '{"tf32":true}'
  --threads N          of all sides; default all processors
  --rounds N           fresh processes of each side; default 3
  --warmup N           steps before the timed ones; default 3
  --steps N            timed steps of a process, at most; default 40
  --seconds X          time limit of a process's timed steps; default 20
  --python PATH        interpreter that has the peers; default PEER_PYTHON, else python3
  --idle-seconds X     wait this long for an idle machine; default 120
  --operators          and time each operator in float32 and in the precision
  --largest-batch N    and find the largest batch that fits into the memory, up to N
  --results DIR        where the JSON goes; default bench/results
  --quick              a few steps once, to see that everything runs; its figures mean nothing
`;

const flags = {
  backend: { type: "string", default: "ort" },
  against: { type: "string" },
  precision: { type: "string", default: "float32" },
  device: { type: "string", default: "cpu" },
  threads: { type: "string", default: String(availableParallelism()) },
  rounds: { type: "string" },
  warmup: { type: "string" },
  steps: { type: "string" },
  seconds: { type: "string" },
  python: { type: "string" },
  cuda: { type: "string" },
  operators: { type: "boolean", default: false },
  "largest-batch": { type: "string" },
  "idle-seconds": { type: "string", default: "120" },
  results: { type: "string" },
  quick: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} as const;

const EVERYTHING: readonly string[] = ["w1", "w2", ...Object.keys(SCENARIOS)];

/** Undefined when help is requested. @throws UsageError */
export function parseCommandLine(
  argv: readonly string[],
  defaults: { readonly python: string; readonly results: string },
): BenchOptions | undefined {
  const { values, positionals } = parse(argv);
  if (values.help) return undefined;
  const words = positionals.length === 0 ? EVERYTHING : positionals;
  const workloads = words.map(workloadAt);
  const unknown = words.find((word, at) => workloads[at] === undefined && !Object.hasOwn(SCENARIOS, word));
  if (unknown !== undefined) {
    throw new UsageError(`${unknown}: expected ${[...WORKLOADS, ...Object.keys(SCENARIOS)].join(", ")}`);
  }
  const { against, quick } = values;
  const peers =
    against === undefined ? [] : against.split(",").map((name) => oneOf("against", PEER_NAMES, name));
  const engine = oneOf("backend", ENGINES, values.backend);
  const precision = oneOf("precision", PRECISIONS, values.precision);
  const device = oneOf("device", DEVICES, values.device);
  if (engine === "tfjs" && device === "webgpu") {
    throw new UsageError("--backend tfjs: TensorFlow has no webgpu");
  }
  if (engine === "openvino" && device !== "cpu") {
    throw new UsageError(`--backend openvino: it has no device but cpu, got ${device}`);
  }
  if (peers.includes("keras") && device !== "cpu") {
    throw new UsageError("--against keras: it is run on the CPU only");
  }
  if (peers.length > 0 && device === "webgpu") {
    throw new UsageError("--against: no peer runs on webgpu");
  }
  if (peers.length > 0 && precision === "mixed_float16" && device === "cpu") {
    throw new UsageError(
      "--precision mixed_float16: on the CPU the peers are run in float32 and bfloat16 only",
    );
  }
  return {
    workloads: workloads.filter((workload) => workload !== undefined),
    scenarios: words.filter((_, at) => workloads[at] === undefined),
    against: peers,
    precision,
    choice: {
      engine,
      device,
      threads: count("threads", values.threads),
      ...(values.cuda === undefined ? {} : { cuda: record("cuda", values.cuda) }),
    },
    rounds: count("rounds", values.rounds ?? (quick ? "1" : "3")),
    warmup: count("warmup", values.warmup ?? (quick ? "1" : "3")),
    steps: count("steps", values.steps ?? (quick ? "3" : "40")),
    seconds: amount("seconds", values.seconds ?? "20"),
    python: values.python ?? defaults.python,
    idleSeconds: amount("idle-seconds", quick ? "0" : values["idle-seconds"]),
    results: values.results ?? defaults.results,
    operators: values.operators,
    largestBatch:
      values["largest-batch"] === undefined ? undefined : count("largest-batch", values["largest-batch"]),
    quick,
  };
}

function workloadAt(word: string): SizedWorkload | undefined {
  try {
    return readWorkload(word);
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function record(name: string, text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value as Readonly<Record<string, unknown>>;
  } catch {
    // Refused below.
  }
  throw new UsageError(`--${name} ${text}: expected a JSON object`);
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: flags, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function oneOf<T extends string>(flag: string, names: readonly T[], given: string): T {
  const found = names.find((name) => name === given);
  if (found === undefined) throw new UsageError(`--${flag} ${given}: expected ${names.join(", ")}`);
  return found;
}

function count(name: string, text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isInteger(value) || value < 1) {
    throw new UsageError(`--${name} ${text}: expected an integer ≥ 1`);
  }
  return value;
}

function amount(name: string, text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value) || value < 0) {
    throw new UsageError(`--${name} ${text}: expected a number ≥ 0`);
  }
  return value;
}
