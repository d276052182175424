// Warnings about a file that is read all the same: what is not trained and may have to be, and what it says wrongly.
import type { TrainingWarning } from "@mp/core";
import { quote } from "../problem.js";
import type { InitializerRole } from "./initializer-roles.js";

export type Warn = (warning: TrainingWarning) => void;

/** Prints a warning to stderr. */
export const printWarning: Warn = ({ message }) => console.warn(`[mp] ${message}`);

/** Names in one message; more would hide what it says. */
const MOST_NAMES = 5;

function listed(names: readonly string[]): string {
  const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : "";
  return `${names.slice(0, MOST_NAMES).join(", ")}${more}`;
}

/** Warns of constants in a place of weights, and of one parameter for several layers. */
export function warnOfRoles(roles: readonly InitializerRole[], warn: Warn): void {
  const doubtful = roles.filter(({ doubt }) => doubt !== undefined);
  const [first] = doubtful;
  if (first !== undefined) {
    const facts = doubtful.map(({ name, doubt }) => `${quote(name)} (${doubt})`);
    warn({
      type: "gradient",
      message: `onnx: not trained: ${listed(facts)}; to train one, pass isParameter: (name, _, byDefault) => byDefault.isParameter || name === ${quote(first.name)}`,
      details: { names: doubtful.map(({ name }) => name) },
    });
  }
  const shared = roles.filter((role) => role.isParameter && role.shared !== undefined);
  if (shared.length === 0) return;
  const facts = shared.map(({ name, shared = [] }) => `${quote(name)} (${listed(shared)})`);
  warn({
    type: "gradient",
    message: `onnx: one parameter for several layers, trained as one: ${listed(facts)}; an exporter merges equal initializers, so if the layers are separate, export with weights that differ, or by torch.onnx.export(dynamo=True, optimize=False)`,
    details: { names: shared.map(({ name }) => name) },
  });
}
