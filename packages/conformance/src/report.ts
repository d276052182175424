/** The result of one case. There is no other result, and no case is skipped. */
export type Status = "passed" | "refused" | "known-failure" | "failed";

export interface Outcome {
  readonly id: string;
  readonly status: Status;
  /** Why the case failed, the manifest's reason for refusing it, or the reason of the known failure. */
  readonly detail: string;
  readonly milliseconds: number;
}

/** The results of a run as plain data, from which compatibility tables are made. */
export interface Report {
  readonly backend: string;
  readonly engine: { readonly name: string; readonly version: string };
  readonly device: string;
  readonly seed: number;
  readonly ok: boolean;
  readonly counts: Readonly<Record<Status, number>>;
  readonly outcomes: readonly Outcome[];
  /** Problems of the run itself, such as a known failure without a case. */
  readonly problems: readonly string[];
}

/** Everything that keeps a report from being ok, one line each. */
export function failuresOf({ outcomes, problems }: Pick<Report, "outcomes" | "problems">): readonly string[] {
  const failed = outcomes.filter(({ status }) => status === "failed");
  return [...failed.map(({ id, detail }) => `${id}: ${detail}`), ...problems];
}
