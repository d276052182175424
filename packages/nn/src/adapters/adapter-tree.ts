/** Trees of adapters: at the path of each adapted layer two narrow matrices, with peft's names. */
import {
  type HostTensor,
  isHostTensor,
  isTensor,
  leavesOf,
  MpError,
  type Shape,
  type Tensor,
} from "@mp/core";
import { formatShape } from "@mp/core/graph";
import type { LinearPlace } from "../transformers/index.js";
import { shapeOf } from "../transformers/stored-weight.js";
import type { NamedParameters } from "./adaptable-model.js";

/** The matrices of a layer: A, [rank, inputs], and B, [outputs, rank]. */
export interface AdapterPart<T> {
  readonly lora_A: { readonly weight: T };
  readonly lora_B: { readonly weight: T };
}

/** The layers that have adapters, and the rank of these. */
interface Adapted {
  readonly places: readonly LinearPlace[];
  readonly settings: { readonly rank: number };
}

type Branch = Readonly<Record<string, unknown>>;

/** The tree with another part at a path, where branches may be missing; the rest is shared. */
function withPart(
  tree: unknown,
  [name, ...below]: readonly string[],
  make: (part: unknown) => unknown,
): unknown {
  if (name === undefined) return make(tree);
  const child = withPart((tree as Branch | undefined)?.[name], below, make);
  return Array.isArray(tree) ? tree.with(Number(name), child) : { ...(tree as Branch), [name]: child };
}

/** The tree with what `make` gives at each place. */
function withParts(
  tree: unknown,
  places: readonly LinearPlace[],
  make: (place: LinearPlace, part: unknown) => unknown,
): NamedParameters {
  return places.reduce(
    (before, place) => withPart(before, place.path.split("/"), (part) => make(place, part)),
    tree,
  ) as NamedParameters;
}

export const treeOf = (
  places: readonly LinearPlace[],
  make: (place: LinearPlace) => AdapterPart<HostTensor>,
): NamedParameters => withParts({}, places, make);

const isLeaf = (value: unknown): value is Tensor | HostTensor => isTensor(value) || isHostTensor(value);

const OWN = "take adapters of init of this model and rank, or of its loadAdapter";

/** @throws MP_INVALID_ARGUMENT for adapters of other layers; MP_SHAPE_MISMATCH for those of another rank or other sizes */
export function expectAdapters(
  what: string,
  adapters: unknown,
  { places, settings: { rank } }: Adapted,
  remedy: string = OWN,
): void {
  const left = new Map(leavesOf(adapters, isLeaf, what));
  for (const { path, inputs, outputs } of places) {
    for (const [name, wanted] of [
      [`${path}/lora_A/weight`, [rank, inputs]],
      [`${path}/lora_B/weight`, [outputs, rank]],
    ] as const) {
      expectShape(what, name, wanted, left.get(name)?.shape, remedy);
      left.delete(name);
    }
  }
  const [other] = left.keys();
  if (other !== undefined)
    throw new MpError("MP_INVALID_ARGUMENT", `${what} must have nothing at ${other}; ${remedy}`);
}

function expectShape(
  what: string,
  path: string,
  wanted: Shape,
  got: Shape | undefined,
  remedy: string,
): void {
  if (got?.join() === wanted.join()) return;
  throw new MpError(
    got === undefined ? "MP_INVALID_ARGUMENT" : "MP_SHAPE_MISMATCH",
    `${what} must have ${formatShape(wanted)} at ${path}, got ${got === undefined ? "nothing" : formatShape(got)}; ${remedy}`,
    { details: { path } },
  );
}

/** A layer of the base. In the tree of an ONNX file its weight stands alone. */
export interface Layer<W, A> {
  readonly part: { readonly weight: W };
  readonly isAlone: boolean;
  readonly adapter: AdapterPart<A>;
  readonly place: LinearPlace;
}

/**
 * The base with what `make` gives of each adapted layer.
 * @throws as `expectAdapters`, also for a base of another model
 */
export function joined<W, A>(
  base: unknown,
  adapters: unknown,
  adapted: Adapted,
  make: (layer: Layer<W, A>) => unknown,
): NamedParameters {
  const order = `${OWN}; the order is (adapters, base, input, context), and merge(base, adapters)`;
  expectAdapters("lora: adapters", adapters, adapted, order);
  return withParts(base, adapted.places, (place, found) => {
    const { path, inputs, outputs, isInputsFirst } = place;
    const isAlone = isLeaf(found);
    const part = (isAlone ? { weight: found } : found) as { readonly weight: W };
    const shape = isInputsFirst ? [inputs, outputs] : [outputs, inputs];
    expectShape("lora: base", `${path}/weight`, shape, shapeOf(part?.weight), order);
    const adapter = path.split("/").reduce((tree, name) => (tree as Branch)[name], adapters);
    return make({ part, isAlone, adapter: adapter as AdapterPart<A>, place });
  });
}
