/** `npm run bench -- compile --target h200 w1 …`: steps compiled for a GPU that is not here. */
import { GPU_TARGETS, type GpuTargetName } from "@mp/backend-xla/compile";
import type { BenchOptions } from "./command-line.js";
import { type CompiledWorkload, compiledTable, compileWorkload, formatCompiled } from "./compile-workload.js";
import { PRECISIONS, type PrecisionName } from "./job.js";

type CompileOptions = Pick<BenchOptions, "workloads" | "precision" | "devices" | "flashAttention">;

/** Compiles each workload in two precisions, and prints a line each, then a table. */
export async function compileFor(
  target: GpuTargetName,
  { workloads, precision, devices, flashAttention }: CompileOptions,
): Promise<readonly CompiledWorkload[]> {
  const [wide, mixed] = PRECISIONS;
  const other = precision.startsWith("float8") ? mixed : wide;
  const beside: readonly PrecisionName[] = [other, precision === wide ? mixed : precision];
  const { name, published } = GPU_TARGETS[target];
  console.log(`compiled for ${name}, run nowhere; bounds by ${published.source}`);
  const steps: CompiledWorkload[] = [];
  for (const workload of workloads)
    for (const each of beside) {
      const step = await compileWorkload(workload, each, { target, devices, flashAttention });
      console.log(formatCompiled(step));
      steps.push(step);
    }
  console.log(`\n${compiledTable(steps)}`);
  return steps;
}
