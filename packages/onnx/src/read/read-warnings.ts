// Warnings about constants that may be weights, and about wrong declarations in a file.
import { quote } from "../problem.js";
import type { InitializerRole } from "./initializer-roles.js";

/** A warning about a file that can still be read; the trainer's warning handlers accept it. */
export interface OnnxWarning {
  readonly type: "gradient" | "data";
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

export type Warn = (warning: OnnxWarning) => void;

/** Prints a warning to stderr. */
export const printWarning: Warn = ({ message }) => console.warn(`[mp] ${message}`);

/** Largest number of names in one message; more would obscure it. */
const MOST_NAMES = 5;

function list(names: readonly string[]): string {
  const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : "";
  return `${names.slice(0, MOST_NAMES).join(", ")}${more}`;
}

/** Warns of constants that are used like weights, and of parameters that several layers share. */
export function warnOfRoles(roles: readonly InitializerRole[], warn: Warn): void {
  const doubtful = roles.filter(({ doubt }) => doubt !== undefined);
  const [first] = doubtful;
  if (first !== undefined) {
    const facts = doubtful.map(({ name, doubt }) => `${quote(name)} (${doubt})`);
    warn({
      type: "gradient",
      message: `onnx: not trained: ${list(facts)}; to train one, pass isParameter: (name, _, byDefault) => byDefault.isParameter || name === ${quote(first.name)}`,
      details: { names: doubtful.map(({ name }) => name) },
    });
  }
  const shared = roles.filter((role) => role.isParameter && role.shared !== undefined);
  if (shared.length === 0) return;
  const facts = shared.map(({ name, shared = [] }) => `${quote(name)} (${list(shared)})`);
  warn({
    type: "gradient",
    message: `onnx: one parameter for several layers, trained as one: ${list(facts)}; an exporter merges equal initializers, so if the layers are separate, export with weights that differ, or by torch.onnx.export(dynamo=True, optimize=False)`,
    details: { names: shared.map(({ name }) => name) },
  });
}
