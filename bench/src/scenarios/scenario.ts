import type { Backend } from "@mp/core";

export interface ScenarioContext {
  readonly backend: Backend;
  /** The scenario's part that this process measures. */
  readonly part: string;
  /** Only a few steps, as a smoke test. */
  readonly quick: boolean;
}

/** Measured figures by name. */
export type Figures = Readonly<Record<string, number>>;

/** A figure of the report; `bar` is the target that it should not exceed. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly bar?: number;
}

/** The medians over processes, by part and figure. */
export type Measured = (part: string, figure: string) => number;

/** One question about the cost of a step. Each part runs in fresh processes, one part after the other. */
export interface Scenario {
  readonly title: string;
  readonly parts: readonly string[];
  /** Processes per part; default is the command line's. */
  readonly rounds?: number;
  readonly environment?: Readonly<Record<string, string>>;
  run(context: ScenarioContext): Promise<Figures>;
  /** The reported figures, computed from the medians. */
  report(measured: Measured): readonly Figure[];
}

const MEGABYTE = 2 ** 20;

/** Bytes in megabytes. */
export const megabytes = (bytes: number): number => bytes / MEGABYTE;

/** The process's peak resident memory, and the part of it beyond `before` bytes, in megabytes. */
export function residentMemory(before: number): { readonly resident: number; readonly added: number } {
  const resident = process.resourceUsage().maxRSS * 1024;
  return { resident: megabytes(resident), added: megabytes(resident - before) };
}

/** Makes glibc return freed blocks of a megabyte and more, so that a process's peak is memory in use. */
export const FREED_BLOCKS_GO_BACK = { MALLOC_MMAP_THRESHOLD_: "1048576" };

/** Name of the only part of a scenario that has no separate parts. */
export const ALONE = "alone";
