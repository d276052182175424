import { formatType, type Phase } from "@mp/graph";
import type { Probe } from "@mp/graph/internal";

/** The point at which a step first stopped being finite: the tensor, the phase and the source line. */
export interface Attribution {
  /** The node's name, or the graph input whose data was not finite; `scale` for a loss scale out of range. */
  readonly value: string;
  readonly op: string;
  readonly phase: Phase | "input" | "scale";
  readonly scope: string;
  readonly type: string;
  readonly line: string | undefined;
}

export const attributionOf = ({ node, input = "", value }: Probe): Attribution => {
  const { phase = "input", scope = "", line } = node?.origin ?? {};
  return { value: node?.name ?? input, op: node?.op ?? "input", phase, scope, type: formatType(value), line };
};

/** An attribution to something other than a value of the graph, such as the loss scale. */
export const attributionTo = (value: string, op: string, phase: Attribution["phase"]): Attribution => ({
  value,
  op,
  phase,
  scope: "",
  type: "f32[]",
  line: undefined,
});

export function formatAttribution({ value, op, phase, type, line }: Attribution): string {
  const what = [...new Set([op, phase, type])].join(", ");
  return `${value} (${what})${line === undefined ? "" : ` at ${line}`}`;
}
