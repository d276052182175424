import { type HostTensor, leavesOf, type State, type Tree } from "@mp/graph";
import { isValueType } from "../definition/state.js";
import { feedName, outputTree, type TypeTree } from "../definition/traced-program.js";

/** Downloads one part of a run's state as a tree. */
export async function readPart(
  state: State,
  types: TypeTree,
  part: "model" | "scaler" | "rates",
): Promise<Tree<HostTensor>> {
  const own = (types as Readonly<Record<typeof part, TypeTree>>)[part];
  const slots = leavesOf(own, isValueType, part).map(([path]) => feedName(part, path));
  return outputTree(own, part, await state.read(slots)) as Tree<HostTensor>;
}
