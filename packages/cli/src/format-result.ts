import type { Comparison, RunResult } from "./result.js";
import { alignColumns } from "./text-table.js";

/** Formats a run as lines of a name and a value. */
export function formatRun(result: RunResult): string {
  return alignColumns(figures(result));
}

/** Formats two runs side by side. States no speed-up if the engine emulated one of them. */
export function formatComparison(comparison: Comparison): string {
  const { float32, mixed, speedup, memoryRatio } = comparison;
  const right = figures(mixed);
  const rows = figures(float32).map(([name, value], index) => [name, value, right[index]?.[1] ?? ""]);
  const isNative = float32.emulated.length === 0 && mixed.emulated.length === 0;
  const speed = isNative ? speedText(speedup) : "emulated, so there is no speed-up to tell";
  const memory = memoryRatio === null ? "memory not measured" : `memory ${memoryRatio.toFixed(2)}×`;
  return `${alignColumns([["", "float32", mixed.precision], ...rows])}\n${speed}, ${memory}`;
}

const speedText = (speedup: number | null): string =>
  speedup === null ? "speed-up not measured" : `speed-up ${speedup.toFixed(2)}×`;

function figures(result: RunResult): [name: string, value: string][] {
  const { loss, metric, msPerStep, flopsPerSecond, peakMemoryBytes, emulated } = result;
  return [
    [metric.name, significant(metric.value)],
    ["last loss", figure(loss.at(-1))],
    ["steps applied", `${result.applied} of ${result.steps}`],
    ["loss scale at the end", String(result.finalScale)],
    ["ms per step, median", figure(msPerStep?.median)],
    ["ms per step, min", figure(msPerStep?.min)],
    ["GFLOP/s", figure(flopsPerSecond, 1e9)],
    ["peak memory, MiB", figure(peakMemoryBytes, 2 ** 20)],
    ["engine", `${result.engine.name} ${result.engine.version}, ${result.device}`],
    ["emulated", emulated.length === 0 ? "nothing" : emulated.map(briefly).join(", ")],
  ];
}

const figure = (value: number | null | undefined, unit = 1): string =>
  value === null || value === undefined ? "not measured" : significant(value / unit);

/** Truncates a warning at its second colon; the run has already printed the whole warning. */
const briefly = (warning: string): string => /^[^:]*:[^:]*/.exec(warning)?.[0] ?? warning;

/** Formats a number with five significant digits. */
const significant = (value: number): string => String(Number(value.toPrecision(5)));
