/** The result of one case. There is no fourth one, and no skipping. */
export type Status = "passed" | "refused" | "known-failure" | "failed";

export interface Outcome {
  readonly id: string;
  readonly status: Status;
  /** Why it failed, the manifest's reason for refusing, or the reason of the known failure. */
  readonly detail: string;
  readonly milliseconds: number;
}

/** Plain data, from which compatibility tables are made. */
export interface Report {
  readonly backend: string;
  readonly engine: { readonly name: string; readonly version: string };
  readonly device: string;
  readonly seed: number;
  readonly ok: boolean;
  readonly counts: Readonly<Record<Status, number>>;
  readonly outcomes: readonly Outcome[];
  /** Problems of the run itself, such as a known failure that names no case. */
  readonly problems: readonly string[];
}

/** Everything that keeps a report from being ok, one line each; empty when it is. */
export function failuresOf({ outcomes, problems }: Pick<Report, "outcomes" | "problems">): readonly string[] {
  const failed = outcomes.filter(({ status }) => status === "failed");
  return [...failed.map(({ id, detail }) => `${id}: ${detail}`), ...problems];
}
