import { checks, readOptions, withDefault } from "@mp/graph/internal";
import { invalid } from "../errors.js";
import { type Filling, fillTrees } from "./filling.js";
import { type FileTensors, openWeights } from "./open-weights.js";
import { checkRenaming, modelPath, type Renaming } from "./renaming.js";
import { ALLOWED, type Allowed, expectComplete, type Subject, type WeightsReport } from "./report.js";

/** Trees as the trainer takes them, which the model's `init` and `initState` make. */
export interface LikeModel {
  /** The initial parameters. Leaves that the file lacks keep their values. */
  readonly params: object;
  /** The initial running statistics, if the model has any. */
  readonly modelState?: object;
}

export interface LoadSafetensorsOptions {
  /**
   * Maps names in the file to paths in the model: a function, or pairs of pattern and replacement, applied in turn.
   * Dots count as slashes. Default: names stay as they are.
   */
  readonly rename?: Renaming;
  /**
   * Which matrices the file stores as [inputs, outputs], by name, as transformers does for GPT-2. Default false, since
   * PyTorch's `Linear` stores [outputs, inputs].
   */
  readonly inputsFirst?: boolean | ((name: string) => boolean);
  /** Mismatches to accept: missing or wrong leaves stay initial, extra tensors are unused. Default []. */
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

/**
 * Loads weights of PyTorch or Hugging Face into copies of the trees in `like`. Rules for each type of layer transpose
 * kernels, and split stacked gates and projections. F16, BF16, F32 and F64 become f32, or bf16 where `like` is bf16, as
 * in a frozen base. The path is that of a `.safetensors` file, or of the index of a sharded one,
 * `model.safetensors.index.json`.
 * @throws MP_INVALID_ARGUMENT, MP_IO, MP_PARSE, MP_OUT_OF_MEMORY; MP_CHECKPOINT_MISMATCH with the report in
 *   `details.report`, for mismatches that `allow` does not name
 */
export async function loadSafetensors<L extends LikeModel>(
  path: string,
  like: L,
  options: LoadSafetensorsOptions = {},
): Promise<L & { readonly report: WeightsReport }> {
  const read = readOptions("loadSafetensors", options, OPTIONS, { example: '{ rename: [["bert.", ""]] }' });
  const { inputsFirst } = read;
  checks.object("loadSafetensors: its second argument", like);
  checks.object("loadSafetensors: params", like.params);
  checks.optional(checks.object)("loadSafetensors: modelState", like.modelState);
  const { params, modelState } = like;
  const trees = modelState === undefined ? { params } : { params, modelState };
  const remedy: Subject["remedy"] = (failed) =>
    `pass rename, which turns names of the file into those of the model, or allow: ${JSON.stringify(failed)}`;
  const { loaded, report } = await loadStored({ what: "loadSafetensors", path, remedy }, trees, {
    ...read,
    isInputsFirst: typeof inputsFirst === "function" ? answering(inputsFirst) : () => inputsFirst,
  });
  return { ...loaded, report } as unknown as L & { readonly report: WeightsReport };
}

interface Reading extends Pick<Filling, "isInputsFirst" | "store"> {
  readonly rename: Renaming | undefined;
  readonly allow?: readonly Allowed[];
}

/** Loads weights, for `loadSafetensors` and for callers that store leaves in other formats. */
export async function loadStored<T extends object>(
  subject: Subject,
  trees: T,
  { rename, allow, ...means }: Reading,
): Promise<{ readonly loaded: T; readonly report: WeightsReport }> {
  const file = await openWeights(subject);
  const { nameAt, ignored } = nameTensors(subject.what, file, rename);
  const { loaded, report: found } = fillTrees(trees, { nameAt, file, ...means });
  const report = { ...found, ignored: [...ignored, ...found.ignored] };
  expectComplete(subject, report, allow);
  return { loaded, report };
}

/** Refuses results of `inputsFirst` that are not boolean, such as a promise. @throws MP_INVALID_ARGUMENT */
const answering =
  (inputsFirst: (name: string) => boolean) =>
  (name: string): boolean => {
    const given = inputsFirst(name);
    checks.truth(`loadSafetensors: inputsFirst of ${JSON.stringify(name)}`, given);
    return given;
  };

/** Names of a file's tensors, by path in the model. @throws MP_INVALID_ARGUMENT for two with the same path */
export function nameTensors(
  what: string,
  file: FileTensors,
  rename: Renaming | undefined,
): { readonly nameAt: ReadonlyMap<string, string>; readonly ignored: readonly string[] } {
  const nameAt = new Map<string, string>();
  const ignored: string[] = [];
  for (const name of file.keys()) {
    const path = modelPath(name, rename);
    if (path === undefined) {
      ignored.push(name);
      continue;
    }
    const other = nameAt.get(path);
    if (other !== undefined) {
      throw invalid(
        `${what}: ${JSON.stringify(other)} and ${JSON.stringify(name)} are both renamed ${JSON.stringify(path)}; leave one of them out`,
        { path },
      );
    }
    nameAt.set(path, name);
  }
  return { nameAt, ignored };
}
