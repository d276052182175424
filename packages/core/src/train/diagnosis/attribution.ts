import { formatType, isHalf, type Phase } from "@mp/graph";
import { castInputs, firstCulprit, instrumentFinite } from "@mp/graph/internal";
import type { LossScaler } from "../../precision/loss-scaler.js";
import type { Compiled } from "../compile/compiled-programs.js";
import type { Program } from "../definition/traced-program.js";
import { scaleFault } from "../programs/scale.js";
import { beyondHalf, type Inputs } from "./beyond-half.js";

/** The point at which a step first stopped being finite: the tensor, the phase and the source line. */
export interface Attribution {
  /** The node's name, or the graph input whose data was not finite at first; `scale` for a loss scale out of range. */
  readonly value: string;
  readonly op: string;
  readonly phase: Phase | "input" | "scale";
  readonly scope: string;
  readonly type: string;
  readonly line: string | undefined;
  /** What the value means and what to do. */
  readonly remedy: string;
}

const remedies: Readonly<Record<Exclude<Attribution["phase"], "scale">, string>> = {
  input: "the data itself holds an infinity or NaN: check this input",
  forward:
    "the forward pass is not finite, which no loss scale can help: make it smaller (normalize, lower the learning rate, clip gradients), or keep it and what reads it in f32, by scope or by operator",
  loss: "the loss is not finite, which no loss scale can help: check labels and masks, and keep the loss in f32",
  backward:
    "a gradient overflows: if it overflows again at a lower loss scale, lower the scaler's minimum scale, or keep it in f32, by scope or by operator",
  update:
    "the update is not finite: lower the learning rate, clip gradients or raise the optimizer's epsilon",
};

/** Remedies for operators that return infinity or NaN for finite operands at any learning rate. */
const operandRemedies: Readonly<Partial<Record<string, string>>> = {
  Log: "Log of 0 or less: add an epsilon or clip its operand",
  Sqrt: "Sqrt of a number below 0: clip its operand",
  Div: "Div by 0, or a quotient that is out of range: add an epsilon to the divisor or clip it",
  Pow: "Pow of 0 or less, or a power that is out of range: add an epsilon or clip its operand",
};

function chooseRemedy(op: string, phase: Exclude<Attribution["phase"], "scale">): string {
  const isForward = phase === "forward" || phase === "loss";
  return (isForward ? operandRemedies[op] : undefined) ?? remedies[phase];
}

/** An instrumented copy of a step's program, which does not change the state and leaves out metrics. */
export function diagnosisProgram({ graph, bindings }: Program): Program {
  const decisive = graph.outputs
    .map(({ name }) => name)
    .filter((name) => /^(applied|loss|gradNorm|next\/.*)$/.test(name));
  const instrumented = instrumentFinite(graph, decisive);
  return {
    graph: instrumented.graph,
    bindings: bindings.map(({ slot, input }) => ({ slot, input })),
    outputs: {},
    probes: instrumented.probes,
  };
}

/**
 * Runs a program of `diagnosisProgram` and names the first value, in running order, that is not finite and makes the
 * loss, a gradient or the next state non-finite; undefined if there is none.
 */
export async function attribute(
  { executable, probes }: Compiled,
  inputs: Inputs,
): Promise<Attribution | undefined> {
  if (probes === undefined) throw new Error("internal: the program has no probes");
  const { poison } = await executable.run(inputs);
  const flags = poison?.data as Float32Array;
  const first = firstCulprit(probes, (place) => flags[place] === 0);
  if (first === undefined) return undefined;
  const { node, input, value } = first;
  const phase = node?.origin.phase ?? "input";
  const ofData = isHalf(value.dtype) ? beyondHalf(inputs, castInputs(probes, first), value.dtype) : undefined;
  return {
    value: node?.name ?? input ?? "",
    op: node?.op ?? "input",
    phase,
    scope: node?.origin.scope ?? "",
    type: formatType(value),
    line: node?.origin.line,
    remedy: ofData ?? chooseRemedy(node?.op ?? "input", phase),
  };
}

/** The attribution for a loss scale outside of the scaler's range; undefined if the scale is inside. */
export function scaleAttribution(lossScaler: LossScaler, scale: number): Attribution | undefined {
  const remedy = scaleFault(lossScaler, scale);
  if (remedy === undefined) return undefined;
  return {
    value: "scale",
    op: lossScaler.name,
    phase: "scale",
    scope: "",
    type: "f32[]",
    line: undefined,
    remedy,
  };
}

export function formatAttribution(found: Attribution): string {
  const place = found.line === undefined ? "" : ` at ${found.line}`;
  const what = [...new Set([found.op, found.phase, found.type])].join(", ");
  return `${found.value} (${what})${place}; ${found.remedy}`;
}
