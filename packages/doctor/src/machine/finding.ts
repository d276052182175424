/** A finding of the doctor, a line of its report. */
export interface Finding {
  /** The subject of the finding: `Node`, `ONNX Runtime`, `step on TensorFlow (cpu)`. */
  readonly about: string;
  /**
   * `ok`; `note`: nothing to repair; `missing`: not installed, which is fine unless you want it; `problem`:
   * installed, but does not work.
   */
  readonly status: "ok" | "note" | "missing" | "problem";
  /** The finding in one line. */
  readonly text: string;
  /** What to do, in one line. */
  readonly remedy?: string;
  /** Details as data: versions, paths, dtypes. */
  readonly facts: Readonly<Record<string, unknown>>;
}
