/** Trees of adapters: at the path of each adapted layer two narrow matrices, with peft's names. */
import { type HostTensor, isHostTensor, isTensor, MpError, type Tree } from "@mp/core";
import type { LinearPlace } from "../transformers/index.js";
import type { NamedParameters } from "./adaptable-model.js";

/** The matrices of a layer: A, [rank, inputs], and B, [outputs, rank]. */
export interface AdapterPart<T> {
  readonly lora_A: { readonly weight: T };
  readonly lora_B: { readonly weight: T };
}

type Branch = { [name: string]: Branch | Tree<HostTensor> };

/** The tree with what `make` gives at each place. */
export function treeOf(
  places: readonly LinearPlace[],
  make: (place: LinearPlace) => AdapterPart<HostTensor>,
): NamedParameters {
  const tree: Branch = {};
  for (const place of places) {
    const names = place.path.split("/");
    const last = names.pop() as string;
    let branch = tree;
    for (const name of names) {
      branch[name] ??= {};
      branch = branch[name] as Branch;
    }
    branch[last] = make(place) as unknown as Tree<HostTensor>;
  }
  return tree as NamedParameters;
}

const partAt = (tree: unknown, path: string): unknown =>
  path
    .split("/")
    .reduce((part, name) => (part as Readonly<Record<string, unknown>> | undefined)?.[name], tree);

const isWeight = (part: unknown): boolean => isTensor(part) || isHostTensor(part);

/** Whether a place is that of a weight alone, as in the tree of an ONNX file. */
export const isAlone = (tree: unknown, { path }: LinearPlace): boolean => isWeight(partAt(tree, path));

/**
 * The part of a tree at each place. A weight that stands alone is a part without anything else.
 * @throws MP_INVALID_ARGUMENT for a tree without one of them
 */
export function partsAt<T>(
  what: string,
  tree: unknown,
  places: readonly LinearPlace[],
  leaf: string,
): readonly T[] {
  return places.map(({ path }) => {
    const part = partAt(tree, path);
    if (leaf === "weight" && isWeight(part)) return { weight: part } as T;
    if (typeof part === "object" && part !== null && leaf in part) return part as T;
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `lora: ${what} must have ${path}/${leaf}; the order is (adapters, base, input, context), and merge(base, adapters)`,
    );
  });
}

/** The tree with other parts at the places; the rest is shared. */
export function replaced(tree: unknown, parts: ReadonlyMap<string, object>, path = ""): unknown {
  const own = parts.get(path);
  if (own !== undefined) return own;
  const isNear = [...parts.keys()].some((place) => path === "" || place.startsWith(`${path}/`));
  if (!isNear) return tree;
  const below = (name: string | number, child: unknown): unknown =>
    replaced(child, parts, path === "" ? String(name) : `${path}/${name}`);
  if (Array.isArray(tree)) return tree.map((child, index) => below(index, child));
  return Object.fromEntries(
    Object.entries(tree as object).map(([name, child]) => [name, below(name, child)]),
  );
}
