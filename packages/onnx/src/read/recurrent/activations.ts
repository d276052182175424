import type { Tensor } from "@mp/graph";
import { add, elu, leakyRelu, mul, relu, sigmoid, softplus, tanh } from "@mp/graph/ops";
import { shortest } from "../../numbers.js";
import { quote } from "../../problem.js";
import { hardSigmoid, softsign, thresholdedRelu } from "../node/formulas.js";
import type { NodeReader } from "../node/node-reader.js";

export type Activation = (x: Tensor) => Tensor;

/** The default of an alpha or beta; "refused" if ONNX and its engines disagree, so that the node must give it. */
type Omitted = number | "refused";

/** An activation of ONNX; `alpha` and `beta` are absent if it takes none. */
interface Definition {
  readonly alpha?: Omitted;
  readonly beta?: Omitted;
  readonly of: (x: Tensor, alpha: number, beta: number) => Tensor;
}

const ACTIVATIONS: Readonly<Record<string, Definition>> = {
  Relu: { of: relu },
  Tanh: { of: tanh },
  Sigmoid: { of: sigmoid },
  Softsign: { of: softsign },
  Softplus: { of: softplus },
  Affine: { alpha: "refused", beta: "refused", of: (x, alpha, beta) => add(mul(x, alpha), beta) },
  LeakyRelu: { alpha: 0.01, of: leakyRelu },
  ThresholdedRelu: { alpha: "refused", of: thresholdedRelu },
  ScaledTanh: { alpha: "refused", beta: "refused", of: (x, alpha, beta) => mul(tanh(mul(x, beta)), alpha) },
  HardSigmoid: { alpha: 0.2, beta: 0.5, of: hardSigmoid },
  Elu: { alpha: 1, of: elu },
};

/**
 * The activations of each direction, in ONNX's order: those that the node names, or `byDefault`. The node's
 * lists of alphas and betas have one number for each activation that takes one.
 */
export function readActivations(
  reader: NodeReader,
  byDefault: readonly string[],
  directions: number,
): readonly (readonly Activation[])[] {
  const count = byDefault.length * directions;
  const names = reader.strings("activations") ?? Array.from({ length: directions }, () => byDefault).flat();
  if (names.length !== count)
    return reader.unsupported(`has ${names.length} activations, here it takes ${count}`);
  const definitions = names.map((name) => [name, define(reader, name)] as const);
  const alphas = readNumbers(reader, "alpha", definitions);
  const betas = readNumbers(reader, "beta", definitions);
  const functions = definitions.map(
    ([, { of }], index): Activation =>
      (x) =>
        of(x, alphas[index] ?? 0, betas[index] ?? 0),
  );
  return Array.from({ length: directions }, (_, direction) =>
    functions.slice(direction * byDefault.length, (direction + 1) * byDefault.length),
  );
}

function define(reader: NodeReader, name: string): Definition {
  const definition = Object.hasOwn(ACTIVATIONS, name) ? ACTIVATIONS[name] : undefined;
  return (
    definition ??
    reader.unsupported(
      `has the activation ${quote(name)}, supported are ${Object.keys(ACTIVATIONS).join(", ")}`,
    )
  );
}

/** The alpha or beta of each activation; undefined for activations that take none. */
function readNumbers(
  reader: NodeReader,
  which: "alpha" | "beta",
  definitions: readonly (readonly [name: string, definition: Definition])[],
): readonly (number | undefined)[] {
  const attribute = `activation_${which}`;
  const given = reader.floats(attribute) ?? [];
  const takers = definitions.filter(([, definition]) => definition[which] !== undefined).length;
  // Exporters fill the lists also for functions that take no numbers.
  if (takers > 0 && given.length > takers)
    return reader.unsupported(
      `has ${given.length} numbers in ${attribute}, ${takers} of its activations take one`,
    );
  let place = 0;
  return definitions.map(([name, definition]) => {
    const otherwise = definition[which];
    if (otherwise === undefined) return undefined;
    const value = given[place++];
    if (value !== undefined) return shortest(value, "f32");
    return otherwise === "refused"
      ? reader.unsupported(
          `leaves out the ${which} of ${name}, for which engines take different numbers; ${attribute} has to hold it`,
        )
      : otherwise;
  });
}
