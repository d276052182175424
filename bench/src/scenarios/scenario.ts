import type { Backend } from "@mp/core";

export interface ScenarioContext {
  readonly backend: Backend;
  /** The scenario's part that this process measures. */
  readonly part: string;
  /** Only a few steps, as a smoke test. */
  readonly quick: boolean;
}

export interface Outcome {
  /** Measured figures by name, units in the names. */
  readonly figures: Readonly<Record<string, number>>;
  /** Lines to print, such as a table; those of the first process are shown. */
  readonly text?: string;
}

/** A figure of the report; `bar` is the target that it should not exceed. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly bar?: number;
}

/** Medians over processes: figures by part. */
export type Measured = (part: string, figure: string) => number;

/** One question about the cost of a step. Each part runs in fresh processes, one part after the other. */
export interface Scenario {
  readonly title: string;
  readonly parts: readonly string[];
  /** Processes per part; default is the command line's. */
  readonly rounds?: number;
  readonly environment?: Readonly<Record<string, string>>;
  run(context: ScenarioContext): Promise<Outcome>;
  /** The reported figures, computed from the medians. */
  report(measured: Measured): readonly Figure[];
}

/** The part of a scenario that needs only one kind of process. */
export const ALONE = "alone";
