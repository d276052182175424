import { type DType, formatType, type HostTensor, isHostTensor, mapTree } from "@mp/graph";
import { checkOptions, checks } from "@mp/graph/internal";
import { feedName } from "../definition/traced-program.js";
import type { WeightsChoice } from "../weights/average.js";
import { nonFiniteProblem } from "../weights/non-finite.js";
import { DAMAGED, listMisfits, openCheckpoint } from "./file/open-checkpoint.js";
import { fromBytes, fromFile } from "./file/place.js";
import { weightsIn } from "./file/weights-in.js";

/** Trees as the trainer takes them, made by `init` and `initState` of the model that the file is from. */
export interface ModelTrees {
  readonly params: object;
  readonly modelState?: object;
}

/**
 * Loads parameters, and model state if `like` has it, from the path or bytes of a training checkpoint, for example to
 * fine-tune. Returns the trees of `like` with the loaded values. Parameters are f32 whatever their storage dtype,
 * except that a frozen parameter keeps its dtype; with `weights: "ema"` they are the moving average. Seed, optimizer
 * and precision of the run that wrote the file, and entries that are not in `like`, are ignored.
 * @throws MP_IO, MP_PARSE; MP_CHECKPOINT_MISMATCH naming a value that is missing, of another shape or not finite
 */
export async function loadParameters<L extends ModelTrees>(
  from: string | Uint8Array,
  like: L,
  options: WeightsChoice = {},
): Promise<L> {
  checkOptions("loadParameters", options, { weights: true }, '{ weights: "ema" }');
  const { weights = "current" } = options;
  checks.oneOf("current", "ema")("loadParameters: weights", weights);
  checkOptions<ModelTrees>(
    "loadParameters",
    like,
    { params: true, modelState: true },
    "{ params: model.init(key(0)) }",
  );
  const source =
    typeof from === "object" ? fromBytes("loadParameters", from) : fromFile("loadParameters", from);
  const opened = await openCheckpoint(source);
  const { tensors, refuse } = opened;
  const parameter = weightsIn(opened, weights === "ema");
  const misfits: string[] = [];
  const problems: string[] = [];
  const takeLeaf = (
    tree: object,
    what: string,
    keptAt: (place: string, wanted: DType) => HostTensor | undefined,
  ): unknown =>
    mapTree(
      tree,
      isHostTensor,
      (leaf, place) => {
        const found = keptAt(place, leaf.dtype);
        if (found === undefined) misfits.push(`${what}/${place} is missing`);
        else if (formatType(found) !== formatType(leaf))
          misfits.push(`${what}/${place} is ${formatType(found)} instead of ${formatType(leaf)}`);
        else {
          const problem = nonFiniteProblem(`${what}/${place}`, found);
          if (problem !== undefined) problems.push(problem);
        }
        return found ?? leaf;
      },
      what,
    );
  const { params, modelState } = like;
  const loaded = {
    params: takeLeaf(params, "params", parameter),
    ...(modelState === undefined
      ? {}
      : { modelState: takeLeaf(modelState, "modelState", (place) => tensors[feedName("model", place)]) }),
  };
  if (misfits.length > 0) refuse(`does not fit: ${listMisfits(misfits)}`);
  if (problems.length > 0) refuse(`${listMisfits(problems)}; ${DAMAGED}`);
  return loaded as L;
}
