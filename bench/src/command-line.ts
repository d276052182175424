import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import {
  ENGINES,
  type EngineChoice,
  PEERS,
  type PeerName,
  PRECISIONS,
  type PrecisionName,
  WORKLOADS,
  type WorkloadName,
} from "./job.js";
import { SCENARIOS } from "./scenarios/scenarios.js";

export interface BenchOptions {
  readonly workloads: readonly WorkloadName[];
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
  readonly quick: boolean;
}

/** The command line was wrong; the message says what is allowed. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

export const HELP: string = `npm run bench -- [WHAT …] [flags]

WHAT is any of
  ${WORKLOADS.join(" ")}          training steps, ours and with --against peers', in alternating fresh processes
  ${Object.keys(SCENARIOS).join(" ")}
                       what the parts of our own step cost
and all of them but w3, w4 and w2-1536 when nothing is named.

  --backend NAME       ours on ${ENGINES.join(" or ")}; default ort
  --against NAME,…     run ${PEERS.join(" and ")} beside ours
  --precision NAME     ${PRECISIONS.join(", ")}; default float32
  --device cpu|cuda    of ours and PyTorch's; default cpu
  --threads N          of all sides; default all processors
  --rounds N           fresh processes of each side; default 3
  --warmup N           steps before the timed ones; default 3
  --steps N            timed steps of a process, at most; default 40
  --seconds X          time limit of a process's timed steps; default 20
  --python PATH        interpreter that has the peers; default PEER_PYTHON, else python3
  --idle-seconds X     wait this long for an idle machine; default 120
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
  const isWorkload = (word: string): word is WorkloadName => WORKLOADS.some((name) => name === word);
  const unknown = words.find((word) => !isWorkload(word) && !Object.hasOwn(SCENARIOS, word));
  if (unknown !== undefined) {
    throw new UsageError(`${unknown}: expected ${[...WORKLOADS, ...Object.keys(SCENARIOS)].join(", ")}`);
  }
  const { against, quick } = values;
  const peers = against === undefined ? [] : against.split(",").map((name) => oneOf("against", PEERS, name));
  const engine = oneOf("backend", ENGINES, values.backend);
  const precision = oneOf("precision", PRECISIONS, values.precision);
  if (peers.includes("keras") && values.device === "cuda") {
    throw new UsageError("--against keras: it is run on the CPU only");
  }
  if (peers.length > 0 && precision === "mixed_float16" && values.device !== "cuda") {
    throw new UsageError(
      "--precision mixed_float16: on the CPU the peers are run in float32 and bfloat16 only",
    );
  }
  return {
    workloads: words.filter(isWorkload),
    scenarios: words.filter((word) => !isWorkload(word)),
    against: peers,
    precision,
    choice: { engine, device: values.device, threads: count("threads", values.threads) },
    rounds: count("rounds", values.rounds ?? (quick ? "1" : "3")),
    warmup: count("warmup", values.warmup ?? (quick ? "1" : "3")),
    steps: count("steps", values.steps ?? (quick ? "3" : "40")),
    seconds: amount("seconds", values.seconds ?? "20"),
    python: values.python ?? defaults.python,
    idleSeconds: amount("idle-seconds", quick ? "0" : values["idle-seconds"]),
    results: values.results ?? defaults.results,
    quick,
  };
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
    throw new UsageError(`--${name} ${text}: expected an integer of 1 or more`);
  }
  return value;
}

function amount(name: string, text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value) || value < 0) {
    throw new UsageError(`--${name} ${text}: expected a number of 0 or more`);
  }
  return value;
}
