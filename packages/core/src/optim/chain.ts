import type { Tensor, TensorTree } from "@mp/graph";
import { invalid, shown } from "@mp/graph/internal";
import { checkUpdate } from "./check-update.js";
import { type GradientTransformation, type Optimizer, widestScope } from "./optimizer.js";

type AnyPart = GradientTransformation | Optimizer;

/**
 * Puts transformations of the gradients before an optimizer: `chain(clipByValue(1), weightDecay(1e-4), momentum(…))`.
 * Parts run in order, each on the result of the previous one. The last part must be the only optimizer: it applies
 * the sign and the learning rate, and a part after it would treat its updates as gradients.
 * @throws MP_INVALID_ARGUMENT for parts in any other order
 */
export function chain(
  ...parts: readonly [...gradients: GradientTransformation[], descent: Optimizer]
): Optimizer<{ readonly parts: readonly TensorTree[] }> {
  checkOrder(parts);
  return {
    name: parts.map((part) => part.name).join(" · "),
    description: parts.map((part) => part.description ?? part.name).join(" · "),
    learningRates: parts.at(-1)?.learningRates ?? {},
    ...widestScope(parts),
    init: (parameters) => ({ parts: parts.map((part) => part.init(parameters)) }),
    update: (gradients, state, parameters, context) => {
      let updates = gradients;
      const rates: Tensor[] = [];
      const next = parts.map((part, index) => {
        const result = part.update(updates, state.parts[index] ?? {}, parameters, context);
        checkUpdate(part.name, result, gradients);
        updates = result.updates;
        rates.push(...(result.rates ?? []));
        return result.state;
      });
      return { updates, state: { parts: next }, rates };
    },
  };
}

/** Checks the order at run time for JavaScript users, who have no type checks. */
function checkOrder(parts: readonly AnyPart[]): void {
  if (Array.isArray(parts[0])) refuse("takes its parts one by one: chain(...parts)");
  for (const part of parts) {
    if (typeof part?.update !== "function") refuse(`${shown(part)} is no optimizer`);
  }
  for (const { name, kind } of parts as readonly { readonly name: string; readonly kind?: unknown }[]) {
    if (kind === undefined || kind === "gradient" || kind === "descent") continue;
    refuse(`the kind of ${name} is ${shown(kind)}, and there are "gradient" and "descent"`);
  }
  const isDescent = ({ kind }: AnyPart): boolean => kind !== "gradient";
  const descents = parts.filter(isDescent);
  const [last] = parts.slice(-1);
  if (descents.length === 1 && last === descents[0]) return;
  const given = `got ${parts.map(({ name }) => name).join(", ") || "nothing"}`;
  if (descents.length === 0)
    refuse(`no optimizer ends it, ${given}; put one last, such as sgd({ learningRate: 0.1 })`);
  if (descents.length > 1) {
    const names = descents.map(({ name }) => name).join(" and ");
    refuse(
      `${names} are ${descents.length} optimizers, where the second would take the first's steps for gradients, ${given}; ` +
        'keep one, and a part of one\'s own that gives gradients says kind: "gradient"',
    );
  }
  const order = [...parts.filter((part) => !isDescent(part)), ...descents].map(({ name }) => name).join(", ");
  refuse(`the optimizer stands last, ${given}; the order that works is ${order}`);
}

function refuse(message: string): never {
  throw invalid(`chain: ${message}`);
}
