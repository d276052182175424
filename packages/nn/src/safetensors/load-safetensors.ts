import { type HostTensor, isHostTensor, leavesOf, MpError, mapTree, type Shape, tensor } from "@mp/core";
import { formatShape } from "@mp/core/graph";
import { checks, readOptions, withDefault } from "@mp/core/internal";
import { LAYOUTS, type Leaves } from "./layouts-table.js";
import { type FileTensors, openWeights } from "./open-weights.js";
import { checkRenaming, pathOf, type Renaming } from "./renaming.js";
import { ALLOWED, type Allowed, expectComplete, type WeightMisfit, type WeightsReport } from "./report.js";
import { dtypeProblem, type Numbers, type Source, sourceOf } from "./source.js";

/** Trees as the trainer takes them, made by `init` and `initState` of the model. */
export interface LikeModel {
  /** The start of the parameters; what the file lacks keeps it. */
  readonly params: object;
  /** The start of the running statistics, where the model has them. */
  readonly modelState?: object;
}

export interface LoadSafetensorsOptions {
  /**
   * Gives tensors of the file the model's paths: a function, or pairs of pattern and replacement, applied in turn.
   * Dots count as slashes. Default: the names as they are.
   */
  readonly rename?: Renaming;
  /**
   * Which matrices are [inputs, outputs] as they are, by their names in the file; those of GPT-2 in Hugging Face's
   * transformers are. Default false: PyTorch's `Linear` has [outputs, inputs].
   */
  readonly inputsFirst?: boolean | ((name: string) => boolean);
  /** What may be left undone: leaves that are missing or do not fit keep their start, tensors are left. Default []. */
  readonly allow?: readonly Allowed[];
}

const OPTIONS = {
  rename: checkRenaming,
  inputsFirst: withDefault(
    false,
    checks.claim(
      "true, false or a function of a name",
      (value) => typeof value === "boolean" || typeof value === "function",
    ),
  ),
  allow: withDefault(
    [] as readonly Allowed[],
    checks.listOf(ALLOWED.join(", "), (value) => (ALLOWED as readonly unknown[]).includes(value)),
  ),
};

/** Buffers of PyTorch's modules that are no weights, and that nothing here has. */
const BUFFERS: ReadonlySet<string> = new Set(["num_batches_tracked", "position_ids"]);

interface Match {
  readonly from: readonly string[];
  readonly numbers: Numbers;
}

/**
 * Weights that PyTorch or Hugging Face saved, as new values of the trees in `like`, by rules for each kind of layer: kernels
 * are transposed, gates and stacked projections taken apart. F16, BF16, F32 and F64 of the file become f32. The path is
 * that of a `.safetensors` file, or of the index of a sharded one, `model.safetensors.index.json`.
 * @throws MP_INVALID_ARGUMENT, MP_IO, MP_PARSE, MP_OUT_OF_MEMORY; MP_CHECKPOINT_MISMATCH with the report in
 * `details.report`, for what is neither loaded nor allowed
 */
export async function loadSafetensors<L extends LikeModel>(
  path: string,
  like: L,
  options: LoadSafetensorsOptions = {},
): Promise<L & { readonly report: WeightsReport }> {
  const { rename, inputsFirst, allow } = readOptions("loadSafetensors", options, OPTIONS, {
    example: '{ rename: [["bert.", ""]] }',
  });
  const { params, modelState } = expectTrees(like);
  const trees = { params, ...(modelState === undefined ? {} : { modelState }) };
  const file = await openWeights(path);
  const { nameAt, ignored } = named(file, rename);
  const isInputsFirst = typeof inputsFirst === "function" ? inputsFirst : () => inputsFirst;
  const source = (name: string): Source =>
    sourceOf(name, file.get(name) as Parameters<typeof sourceOf>[1], isInputsFirst(name));
  const used = new Set<string>();
  const matched: Pick<Match & { path: string }, "path" | "from">[] = [];
  const misfits: WeightMisfit[] = [];
  const missing: string[] = [];
  const taken = (tree: object, what: keyof LikeModel): unknown => {
    const shapes = new Map(leavesOf(tree, isHostTensor, what).map(([at, { shape }]) => [at, shape]));
    return mapTree(
      tree,
      isHostTensor,
      (leaf, at) => {
        const place = `${what}/${at}`;
        const found = candidate(at, shapes, nameAt);
        if (found === undefined) {
          missing.push(place);
          return leaf;
        }
        const { from, make } = found;
        for (const name of from) used.add(name);
        const wrong = from.flatMap((name) => dtypeProblem(file.get(name) as never) ?? []);
        const numbers = wrong.length === 0 ? make(...from.map(source)) : undefined;
        const reason = numbers === undefined ? wrong[0] : misfit(leaf, numbers, from.map(source));
        if (reason !== undefined || numbers === undefined) {
          misfits.push({ path: place, from, reason: reason ?? "" });
          return leaf;
        }
        matched.push({ path: place, from });
        return tensor(numbers.data, numbers.shape);
      },
      what,
    );
  };
  const loaded = Object.fromEntries(
    Object.entries(trees).map(([what, tree]) => [what, taken(tree, what as keyof LikeModel)]),
  );
  const left = [...nameAt.values()].filter((name) => !used.has(name));
  const isBuffer = (name: string): boolean => BUFFERS.has(name.split(/[./]/).at(-1) ?? "");
  const report: WeightsReport = {
    matched,
    misfits,
    missing,
    left: left.filter((name) => !isBuffer(name)),
    ignored: [...ignored, ...left.filter(isBuffer)],
  };
  expectComplete(path, report, allow);
  return { ...loaded, report } as unknown as L & { readonly report: WeightsReport };
}

function expectTrees(like: LikeModel): LikeModel {
  checks.object("loadSafetensors: its second argument", like);
  checks.object("loadSafetensors: params", like.params);
  checks.optional(checks.object)("loadSafetensors: modelState", like.modelState);
  return like;
}

/** @throws MP_INVALID_ARGUMENT for two tensors of one path */
function named(
  file: FileTensors,
  rename: Renaming | undefined,
): { readonly nameAt: ReadonlyMap<string, string>; readonly ignored: readonly string[] } {
  const nameAt = new Map<string, string>();
  const ignored: string[] = [];
  for (const name of file.keys()) {
    const path = pathOf(name, rename);
    if (path === undefined) {
      ignored.push(name);
      continue;
    }
    const other = nameAt.get(path);
    if (other !== undefined) {
      throw new MpError(
        "MP_INVALID_ARGUMENT",
        `loadSafetensors: ${JSON.stringify(other)} and ${JSON.stringify(name)} are both renamed ${JSON.stringify(path)}`,
        { details: { path } },
      );
    }
    nameAt.set(path, name);
  }
  return { nameAt, ignored };
}

interface Candidate {
  readonly from: readonly string[];
  make(...sources: readonly Source[]): Numbers;
}

/** The first rule all of whose tensors are in the file, of the layer itself, then of what it is a part of. */
function candidate(
  path: string,
  shapes: ReadonlyMap<string, Shape>,
  nameAt: ReadonlyMap<string, string>,
): Candidate | undefined {
  const keys = path.split("/");
  for (let depth = keys.length - 1; depth >= Math.max(0, keys.length - 2); depth--) {
    const above = keys.slice(0, depth);
    const prefix = above.map((key) => `${key}/`).join("");
    const below: Leaves = new Map(
      [...shapes].flatMap(([at, shape]) => (at.startsWith(prefix) ? [[at.slice(prefix.length), shape]] : [])),
    );
    for (const { isOne, leaves } of Object.values(LAYOUTS)) {
      if (!isOne(below)) continue;
      for (const { from, make } of leaves[keys.slice(depth).join("/")] ?? []) {
        const names = from.flatMap((name) => nameAt.get(`${prefix}${name}`) ?? []);
        if (names.length === from.length) return { from: names, make };
      }
    }
  }
  // A tensor of the leaf's own name has its layout too: such files are written here.
  const own = nameAt.get(path);
  return own === undefined ? undefined : { from: [own], make: (source) => source as Numbers };
}

function misfit(leaf: HostTensor, made: Numbers, sources: readonly Source[]): string | undefined {
  if (leaf.dtype !== "f32") return `it is ${leaf.dtype} in the model, weights are f32`;
  if (leaf.shape.join() !== made.shape.join()) {
    const [{ shape = [], inputsFirst = false } = {}] = sources;
    const given = `it is ${formatShape(leaf.shape)}, the file's ${sources.map(({ name }) => JSON.stringify(name)).join(" and ")} ${formatShape(shape)}`;
    const fitsOtherwise =
      sources.length === 1 && made.shape.length === 2 && leaf.shape.toReversed().join() === made.shape.join();
    return fitsOtherwise
      ? `${given}, which is ${inputsFirst ? "not [inputs, outputs]" : "[inputs, outputs] already: pass inputsFirst"}`
      : given;
  }
  const at = made.data.findIndex((value) => !Number.isFinite(value));
  return at < 0 ? undefined : `element ${at} is ${made.data[at]} in f32`;
}
