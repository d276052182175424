/** Weights of the base that an adapter's file has, too: trained modules, and embeddings of other tokens. */
import type { Shape } from "@mp/core";
import type { FileTensors } from "../safetensors/open-weights.js";
import type { NamedParameters, ReplaceableWeights } from "./adaptable-model.js";
import type { LinearPlace } from "./linear-place.js";
import { partAt, put } from "./tree-part.js";

/** The replaced weights of one adapter. */
export interface SavedWeights {
  /** Names of the trained modules, peft's `modules_to_save`. */
  readonly modules: readonly string[];
  /** Shapes of the replaced weights, by path. */
  readonly shapes: ReadonlyMap<string, Shape>;
}

export const NOTHING_SAVED: SavedWeights = { modules: [], shapes: new Map() };

const headWeight = ({ head }: ReplaceableWeights): string => `${head.path}/weight`;
const isTied = (weights: ReplaceableWeights): boolean => !weights.shapes.has(headWeight(weights));
/** Whether peft's `modules_to_save` name the module of a weight, by the end of its name. */
const isTrained = (path: string, modules: readonly string[]): boolean =>
  modules.some((name) => path.replaceAll("/", ".").endsWith(`${name}.weight`));
/** Whether the head keeps the base's embeddings, which were also its weight: peft then trains a copy of them. */
const keepsEmbeddings = (weights: ReplaceableWeights, { modules, shapes }: SavedWeights): boolean =>
  isTied(weights) && isTrained(weights.embeddings, modules) && !shapes.has(headWeight(weights));

/**
 * The path of a tensor in an adapter's file: peft calls the weight beside an adapter `base_layer`, and some versions
 * write a trained module three times.
 */
export function adapterPath(name: string, file: FileTensors): string | undefined {
  const plain = name.replace(/\.(modules_to_save|original_module)\./, ".");
  return plain !== name && file.has(plain) ? undefined : plain.replace(".base_layer.", ".");
}

/**
 * Finds the weights that an adapter's file replaces. Where head and embeddings are one tensor, it may have either name;
 * `nameAt` then keeps the name of the embeddings alone.
 */
export function findSaved(
  weights: ReplaceableWeights,
  modules: readonly string[],
  file: FileTensors,
  nameAt: Map<string, string>,
): SavedWeights {
  const { embeddings } = weights;
  const head = headWeight(weights);
  const headName = nameAt.get(head);
  let own = modules;
  if (isTied(weights) && headName !== undefined && !isTrained(head, modules)) {
    if (!nameAt.has(embeddings)) nameAt.set(embeddings, headName);
    nameAt.delete(head);
    own = modules.filter((name) => !isTrained(embeddings, [name]));
  }
  const paths = [...weights.shapes.keys(), ...(isTied(weights) ? [head] : [])].filter((path) =>
    nameAt.has(path),
  );
  const ofTokens = [embeddings, head].filter((path) => nameAt.has(path));
  const rows = new Set(ofTokens.map((path) => file.get(nameAt.get(path) as string)?.shape[0]));
  const saved = {
    modules: own,
    shapes: new Map(paths.map((path) => [path, weights.shapes.get(path) as Shape])),
  };
  const isWhole =
    ofTokens.length === 2 || (isTied(weights) && !keepsEmbeddings(weights, saved) && nameAt.has(embeddings));
  const [count] = isWhole && rows.size === 1 ? rows : [weights.head.outputs];
  for (const path of ofTokens) saved.shapes.set(path, [count as number, weights.head.inputs]);
  return saved;
}

/** Trained modules, and weights of them, that a file lacks; a name means all modules that end with it. */
export function listLacking(
  modules: readonly string[],
  weights: ReplaceableWeights | undefined,
  { shapes }: SavedWeights,
): readonly string[] {
  const paths = [...(weights?.shapes.keys() ?? [])];
  return modules.flatMap((name) => {
    const isOf = (path: string): boolean => path.replaceAll("/", ".").includes(`${name}.`);
    const isKnown = paths.some(isOf) || [...shapes.keys()].some(isOf);
    return isKnown ? paths.filter((path) => isOf(path) && !shapes.has(path)) : [name];
  });
}

/** The layers of a model above the weights that an adapter's file replaces. */
export function layersAbove(
  layers: readonly LinearPlace[],
  weights: ReplaceableWeights,
  { shapes }: SavedWeights,
): readonly LinearPlace[] {
  const [outputs = weights.head.outputs] =
    shapes.get(headWeight(weights)) ?? shapes.get(weights.embeddings) ?? [];
  return [...layers.filter(({ isHead }) => !isHead), { ...weights.head, outputs }];
}

/** The base, with the weights that `adapters` replace. A head that shares embeddings gets a weight if it needs one. */
export function replaceWeights(
  base: NamedParameters,
  adapters: NamedParameters,
  { places, saved }: { readonly places: readonly LinearPlace[]; readonly saved: SavedWeights },
  weights: ReplaceableWeights | undefined,
): NamedParameters {
  if (weights === undefined) return base;
  const head = headWeight(weights);
  const replaced = [...saved.shapes.keys()].reduce(
    (tree, path) => put(tree, path, partAt(adapters, path)),
    base,
  );
  if (!isTied(weights) || partAt(replaced, head) !== undefined) return replaced;
  if (keepsEmbeddings(weights, saved)) return put(replaced, head, partAt(base, weights.embeddings));
  return places.some(({ isHead }) => isHead)
    ? put(replaced, head, partAt(replaced, weights.embeddings))
    : replaced;
}
