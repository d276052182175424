/** Trees of adapters: at the path of each adapted layer, the two low-rank matrices under peft's names. */

import {
  type HostTensor,
  isHostTensor,
  isTensor,
  leavesOf,
  MpError,
  type Shape,
  type Tensor,
} from "@mp/core";
import { formatShape, sameShape } from "@mp/core/graph";
import { invalid } from "../errors.js";
import { weightShape } from "../quantized/stored-weight.js";
import type { NamedParameters } from "./adaptable-model.js";
import type { LinearPlace } from "./linear-place.js";
import type { SavedWeights } from "./saved-weights.js";
import { withPart } from "./tree-part.js";

/** The two matrices of an adapter: `down` is A, [rank, inputs], and `up` is B, [outputs, rank]. */
type Matrices<T> = Readonly<Record<"down" | "up", T>>;

/** The adapted layers, the weights beside them, and the rank of the adapters. */
interface Adapted {
  readonly places: readonly LinearPlace[];
  readonly saved: SavedWeights;
  readonly settings: { readonly rank: number };
}

/** Builds a tree of adapters with the result of `make` at each layer's path. */
export const buildTree = (
  places: readonly LinearPlace[],
  make: (place: LinearPlace) => Matrices<HostTensor>,
): NamedParameters =>
  places.reduce((tree, place) => {
    const { down, up } = make(place);
    const part = { lora_A: { weight: down }, lora_B: { weight: up } };
    return withPart(tree, place.path.split("/"), () => part) as NamedParameters;
  }, {});

const isLeaf = (value: unknown): value is Tensor | HostTensor => isTensor(value) || isHostTensor(value);

const BASE = "take the base of the model that lora was given";
const OWN = "take adapters of init of this model and rank, or of its loadAdapter";

/**
 * The matrices of each adapted layer, in the order of `places`.
 * @throws MP_INVALID_ARGUMENT for adapters of other layers; MP_SHAPE_MISMATCH for matrices of another rank or size
 */
export function adaptersAt<T>(
  what: string,
  adapters: unknown,
  { places, saved, settings: { rank } }: Adapted,
  remedy: string = OWN,
): readonly Matrices<T>[] {
  const left = new Map(leavesOf(adapters, isLeaf, what));
  const take = (path: string, shape: Shape): T => {
    const found = left.get(path);
    expectShape(what, path, shape, found?.shape, remedy);
    left.delete(path);
    return found as T;
  };
  const matrices = places.map(({ path, inputs, outputs }) => ({
    down: take(`${path}/lora_A/weight`, [rank, inputs]),
    up: take(`${path}/lora_B/weight`, [outputs, rank]),
  }));
  // Those that `init` makes have none: they do not change the model.
  for (const [path, shape] of saved.shapes) if (left.has(path)) take(path, shape);
  const [other] = left.keys();
  if (other === undefined) return matrices;
  throw invalid(`${what} must have nothing at ${other}; ${remedy}`);
}

function expectShape(
  what: string,
  path: string,
  wanted: Shape,
  got: Shape | undefined,
  remedy: string,
): void {
  if (got !== undefined && sameShape(got, wanted)) return;
  throw new MpError(
    got === undefined ? "MP_INVALID_ARGUMENT" : "MP_SHAPE_MISMATCH",
    `${what} must have ${formatShape(wanted)} at ${path}, got ${got === undefined ? "nothing" : formatShape(got)}; ${remedy}`,
    { details: { path } },
  );
}

/** A layer of the base with its adapter. `isAlone`: the tree has the weight itself, as for an ONNX file. */
export interface AdaptedLayer<W, T> extends Matrices<T> {
  readonly part: { readonly weight: W };
  readonly isAlone: boolean;
  readonly place: LinearPlace;
}

/**
 * Copies the base with each adapted layer replaced by the result of `make`.
 * @throws as `adaptersAt`, also if the base belongs to another model
 */
export function joinTrees<W, T>(
  base: unknown,
  adapters: unknown,
  adapted: Adapted,
  make: (layer: AdaptedLayer<W, T>) => unknown,
): NamedParameters {
  const order = "adapters come first, then the base";
  const matrices = adaptersAt<T>("lora: adapters", adapters, adapted, `${OWN}; ${order}`);
  return adapted.places.reduce((tree, place, at) => {
    const { path, inputs, outputs, isInputsFirst } = place;
    return withPart(tree, path.split("/"), (found) => {
      const isAlone = isLeaf(found);
      const part = (isAlone ? { weight: found } : found) as { readonly weight: W };
      const shape = isInputsFirst ? [inputs, outputs] : [outputs, inputs];
      expectShape("lora: base", `${path}/weight`, shape, weightShape(part?.weight), `${BASE}; ${order}`);
      return make({ ...(matrices[at] as Matrices<T>), part, isAlone, place });
    });
  }, base) as NamedParameters;
}
