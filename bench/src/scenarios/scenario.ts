import type { Backend } from "@mp/core";

export interface ScenarioContext {
  readonly backend: Backend;
  /** Which of the scenario's parts this process is. */
  readonly part: string;
  /** A few steps only, to see that it runs. */
  readonly quick: boolean;
}

export interface Outcome {
  /** Measured figures by name, units in the names. */
  readonly figures: Readonly<Record<string, number>>;
  /** Lines to print, such as a table; the first process's are shown. */
  readonly text?: string;
}

/** A figure of the report; `bar` is the most that is wanted. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly bar?: number;
}

/** Medians over processes: figures by part. */
export type Measured = (part: string, figure: string) => number;

/** One question about the inside of a step. Each part runs in fresh processes, parts in turn. */
export interface Scenario {
  readonly title: string;
  readonly parts: readonly string[];
  /** Processes a part; default is the command line's. */
  readonly rounds?: number;
  readonly environment?: Readonly<Record<string, string>>;
  run(context: ScenarioContext): Promise<Outcome>;
  /** What is reported, from the medians. */
  report(measured: Measured): readonly Figure[];
}

/** Of a scenario that needs no more than one kind of process. */
export const ALONE = "alone";
