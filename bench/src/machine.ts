import { readFileSync } from "node:fs";
import { availableParallelism, cpus, totalmem } from "node:os";

/** The machine that a figure was measured on, which every result has. */
export interface Machine {
  readonly processor: string;
  /** Instruction sets that matrix products and half dtypes depend on, as far as the system reports them. */
  readonly instructionSets: readonly string[];
  readonly cores: number;
  readonly memoryGigabytes: number;
  readonly system: string;
  readonly node: string;
}

const INSTRUCTION_SETS = ["avx2", "f16c", "avx512f", "avx512_bf16", "avx512_fp16", "amx_bf16", "amx_fp16"];

export function thisMachine(): Machine {
  const info = processorInfo();
  const field = (name: string): string | undefined => new RegExp(`^${name}\\s*: (.*)$`, "m").exec(info)?.[1];
  const flags = new Set(field("flags")?.split(" "));
  const model = cpus()[0]?.model ?? "unknown";
  const family = field("cpu family");
  return {
    processor: family === undefined ? model : `${model}, family ${family} model ${field("model") ?? "?"}`,
    instructionSets: INSTRUCTION_SETS.filter((name) => flags.has(name)),
    cores: availableParallelism(),
    memoryGigabytes: Math.round(totalmem() / 2 ** 30),
    system: `${process.platform} ${process.arch}`,
    node: process.version,
  };
}

function processorInfo(): string {
  try {
    return readFileSync("/proc/cpuinfo", "utf8");
  } catch {
    return "";
  }
}
