// A sample of an option proves something only if the option changes the result.
import { type HostTensor, isHostTensor, opDTypes } from "@mp/graph";
import { describe, expect, it } from "vitest";
import { randomSource } from "../src/random-source.js";
import { opRows, opsWith } from "../src/samples/op-table.js";
import {
  type Chosen,
  type OptionOp,
  type Options,
  pairChoices,
  plainChoice,
  type Setting,
  singleChoices,
} from "../src/samples/setting.js";
import { evaluateNode } from "./wrong-backends/kernels.js";

/** Attributes that no backend reads, or that other attributes determine. */
const INERT = ["Constant/literal", "Scan/saved", "Scan/body"];
/** Options that have the same meaning as the plain ones. */
const SAME = ["Clip: min -Infinity", "Clip: max Infinity", "Einsum: equation i->i"];
/** Pairs of attributes of which only one can have an effect. */
const APART = ["Pad: mode and value"];

type Result = string | undefined;

const written = (given: HostTensor): string =>
  `${given.dtype} ${given.shape.join()}: ${Array.from(given.data as Float32Array, (x) => (Object.is(x, -0) ? "-0" : String(x))).join()}`;

/** The results as text, for the same operands wherever the choice allows it. */
function resultOf<K extends OptionOp>(op: K, { sample }: Setting<K>, chosen: Chosen): Result {
  const made = sample(chosen, { random: randomSource(1, op), dtype: opDTypes[op][0] ?? "f32" });
  return made && evaluateNode(op, made.inputs, made.attributes).map(written).join("; ");
}

const shown = (chosen: Chosen, names: readonly string[]): string =>
  names.map((name) => `${name} ${isHostTensor(chosen[name]) ? "data" : String(chosen[name])}`).join(", ");

function problemsOf<K extends OptionOp>(op: K): readonly string[] {
  const { options }: { readonly options: Options<K> } = opRows[op];
  const [dtype = "f32"] = opDTypes[op];
  return options(dtype).flatMap((one, at) => {
    const plain = plainChoice(one.factors);
    const names = Object.keys(one.factors).filter((name) => !INERT.includes(`${op}/${name}`));
    const results = new Map<Chosen, Result>();
    const changedBy = (chosen: Chosen): readonly string[] =>
      names.filter((name) => chosen[name] !== plain[name]);
    const whole = resultOf(op, one, plain);
    const single = new Map<string, Result>();
    const key = (name: string, value: unknown): string =>
      `${name} ${(one.factors[name] ?? []).indexOf(value)}`;
    for (const chosen of singleChoices(one.factors)) {
      const result = resultOf(op, one, chosen);
      results.set(chosen, result);
      for (const name of changedBy(chosen)) single.set(key(name, chosen[name]), result);
    }
    const idle = [...results]
      .filter(([chosen]) => !SAME.includes(`${op}: ${shown(chosen, changedBy(chosen))}`))
      .filter(
        ([chosen, result]) => changedBy(chosen).length > 0 && (result === undefined || result === whole),
      )
      .map(
        ([chosen, result]) =>
          `${op} ${at}: ${shown(chosen, changedBy(chosen))} is ${result === undefined ? "not allowed" : "idle"}`,
      );
    const together = new Map<string, boolean>();
    for (const chosen of pairChoices(one.factors)) {
      const [first, second] = changedBy(chosen);
      if (first === undefined || second === undefined) continue;
      const result = resultOf(op, one, chosen);
      const alone = [first, second].map((name) => single.get(key(name, chosen[name])));
      const differs = result !== undefined && result !== whole && !alone.includes(result);
      const pair = `${first} and ${second}`;
      together.set(pair, differs || together.get(pair) === true);
    }
    const apart = [...together].filter(([pair, differs]) => !differs && !APART.includes(`${op}: ${pair}`));
    return [...idle, ...apart.map(([pair]) => `${op} ${at}: ${pair} never differ from either`)];
  });
}

describe("the samples of options", () => {
  it.each(opsWith("options"))("%s: each value changes the result, and each two attributes do", (op) => {
    expect(problemsOf(op)).toEqual([]);
  });
});
