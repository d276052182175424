import { formatType, isTensor, leavesOf, MpError, type TensorTree } from "@mp/graph";
import { invalid } from "@mp/graph/internal";

const WANTED = "updates have the structure and the shapes of the gradients, in f32";

/**
 * Checks the result of an optimizer's `update` before it is added to the parameters: an update of another shape would
 * be broadcast, one of another dtype cast. JavaScript users have no type checks.
 * @throws MP_INVALID_ARGUMENT, MP_SHAPE_MISMATCH, MP_DTYPE_MISMATCH naming the update
 */
export function checkUpdate(optimizer: string, update: unknown, gradients: TensorTree): void {
  const isObject = typeof update === "object" && update !== null;
  if (isObject && "updates" in update && "state" in update) {
    checkUpdates(`optimizer ${optimizer}`, update.updates, gradients);
    return;
  }
  const got = isObject ? `an object with ${Object.keys(update).join(", ") || "nothing"}` : String(update);
  throw invalid(`optimizer ${optimizer}: update returns { updates, state }, got ${got}`);
}

function checkUpdates(what: string, updates: unknown, gradients: TensorTree): void {
  const wanted = new Map(leavesOf(gradients, isTensor, "gradients"));
  const given = new Map(leavesOf(updates, isTensor, `${what}: updates`));
  for (const [path, { shape }] of wanted) {
    const update = given.get(path);
    if (update === undefined) {
      throw invalid(`${what}: ${updateName(path)} is missing; ${WANTED}`);
    }
    const type = formatType({ dtype: "f32", shape });
    if (formatType(update) === type) continue;
    throw new MpError(
      update.dtype === "f32" ? "MP_SHAPE_MISMATCH" : "MP_DTYPE_MISMATCH",
      `${what}: ${updateName(path)} is ${formatType(update)} instead of ${type}; ${WANTED}`,
    );
  }
  for (const path of given.keys()) {
    if (wanted.has(path)) continue;
    throw invalid(`${what}: ${updateName(path)} has no gradient; ${WANTED}`);
  }
}

const updateName = (path: string): string => (path === "" ? "updates" : `updates/${path}`);
