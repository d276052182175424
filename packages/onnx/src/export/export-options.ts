import { formatShape, MpError, type Shape, type ValueType } from "@mp/graph";
import { checks, readOptions, withDefault } from "@mp/graph/internal";
import { OPSET_VERSION, type StringMap } from "../model.js";
import { quote } from "../problem.js";

/** An input of an exported model. */
export interface ExportInput {
  /** Outermost first. For a dynamic axis, the smallest size at which the model can be traced, such as 1. */
  readonly shape: Shape;
  /** Default "f32"; inputs are never f16 or bf16. */
  readonly dtype?: "f32" | "i32" | "i64" | "u8" | "bool";
}

/** The inputs of a model by name. */
export type ExportInputs = Readonly<Record<string, ExportInput>>;

export interface ExportOptions<I extends ExportInputs = ExportInputs> {
  /** The inputs by name, in the order of the file. */
  readonly inputs: I;
  /**
   * Names of the axes whose size the file leaves open, by input and axis: `{ x: { 0: "batch" } }`. Axes with the same
   * name have the same size; a name such as `past + time` means the sum of those two sizes. Default none.
   */
  readonly dynamicAxes?: Readonly<Record<string, Readonly<Record<number, string>>>>;
  /**
   * The dtype of the stored parameters; f16 and bf16 take half the bytes. With f16, or bf16 and `target: "cuda"`, the
   * file computes in that dtype the ops that mixed precision does. Inputs and outputs stay f32. Default "f32".
   */
  readonly dtype?: "f32" | "f16" | "bf16";
  /** The device that the file is for; ONNX Runtime's CPU has no bf16 arithmetic. Default "cpu". */
  readonly target?: "cpu" | "cuda";
  /**
   * The operator set of the file, 18 to 23, for engines that do not read the newest; default 23. An operator that the
   * set lacks is written as several older operators.
   */
  readonly opset?: number;
  /**
   * Whether to fold per-channel factors and shifts after a convolution, such as those of a batch
   * normalization, into the convolution's weights if nothing else reads its result. Folded weights are
   * rounded once more and get new names. Default false: engines fold when they load the file.
   */
  readonly foldBatchNorm?: boolean;
  /** Name of the graph in the file; default "model". */
  readonly name?: string;
  /** Entries of the file's metadata in addition to the dtype, which is always there. */
  readonly metadata?: StringMap;
}

/** An axis of an input whose size the file leaves open. */
export interface OpenAxis {
  readonly input: string;
  readonly axis: number;
}

/** A size that the file leaves open, with all axes that have this size. */
export interface OpenSize {
  readonly name: string;
  /** Names of the sizes that add up to this size; only its own name if the size is not a sum. */
  readonly terms: readonly string[];
  readonly size: number;
  readonly axes: readonly [OpenAxis, ...OpenAxis[]];
}

const INPUT_DTYPES = ["f32", "i32", "i64", "u8", "bool"] as const;

const OPTIONS = {
  inputs: checks.object,
  dynamicAxes: withDefault({}, checks.object),
  dtype: withDefault("f32", checks.oneOf("f32", "f16", "bf16")),
  target: withDefault("cpu", checks.oneOf("cpu", "cuda")),
  opset: withDefault(OPSET_VERSION, checks.integer(18, OPSET_VERSION)),
  foldBatchNorm: withDefault(false, checks.truth),
  name: withDefault("model", checks.text),
  metadata: withDefault(
    {},
    checks.claim(
      "an object of strings",
      (given) =>
        typeof given === "object" &&
        given !== null &&
        Object.values(given).every((text) => typeof text === "string"),
    ),
  ),
} as const;

export type ReadExportOptions = Required<Omit<ExportOptions, "inputs">> & {
  readonly inputs: ReadonlyMap<string, ValueType>;
  readonly openSizes: readonly OpenSize[];
};

/** @throws MP_INVALID_ARGUMENT for an unknown option, input or axis, and for one name for different sizes */
export function readExportOptions(options: ExportOptions): ReadExportOptions {
  const read = readOptions("exportOnnx", options, OPTIONS, {
    example: "{ inputs: { x: { shape: [1, 3, 32, 32] } } }",
  });
  const inputs = new Map(
    Object.entries(read.inputs).map(([name, given]) => [name, inputType(name, given)] as const),
  );
  return { ...read, inputs, openSizes: readOpenSizes(inputs, read.dynamicAxes) };
}

function inputType(name: string, given: ExportInput): ValueType {
  const what = `exportOnnx: input ${quote(name)}`;
  if (name === "") invalid("an input has a name, got an empty one");
  checks.object(what, given);
  const { dtype = "f32", shape } = given;
  checks.oneOf(...INPUT_DTYPES)(`${what}: dtype`, dtype);
  const isSize = (size: unknown): boolean => Number.isSafeInteger(size) && Number(size) > 0;
  checks.listOf("sizes, integers ≥ 1", isSize)(`${what}: shape`, shape);
  return { dtype, shape };
}

function readOpenSizes(
  inputs: ReadExportOptions["inputs"],
  dynamicAxes: Required<ExportOptions>["dynamicAxes"],
): readonly OpenSize[] {
  const open = new Map<string, OpenSize>();
  for (const [input, axes] of Object.entries(dynamicAxes)) {
    const shape = inputs.get(input)?.shape;
    if (shape === undefined)
      invalid(`dynamicAxes: there is no input ${quote(input)}`, { input, inputs: [...inputs.keys()] });
    checks.object(`exportOnnx: dynamicAxes: ${quote(input)}`, axes);
    for (const [key, name] of Object.entries(axes)) {
      const axis = Number(key);
      const size = String(axis) === key ? shape[axis] : undefined;
      if (size === undefined)
        invalid(`dynamicAxes: input ${quote(input)}, ${formatShape(shape)}, has no axis ${key}`, { input });
      checks.claim("a name", (given) => typeof given === "string" && given !== "")(
        `exportOnnx: dynamicAxes: axis ${key} of ${quote(input)}`,
        name,
      );
      const known = open.get(name);
      if (known !== undefined && known.size !== size)
        invalid(`dynamicAxes: axes of one name have one size, ${quote(name)} is ${known.size} and ${size}`, {
          name,
        });
      const place = { input, axis };
      const terms = name.split(" + ");
      open.set(name, { name, terms, size, axes: known === undefined ? [place] : [...known.axes, place] });
    }
  }
  for (const each of open.values()) expectSum(each, open);
  return [...open.values()];
}

function expectSum({ name, terms, size }: OpenSize, open: ReadonlyMap<string, OpenSize>): void {
  const sizes = terms.map(
    (term) =>
      open.get(term)?.size ??
      invalid(`dynamicAxes: ${quote(name)} is a sum, and no axis has the name ${quote(term)}`, { name }),
  );
  const sum = sizes.reduce((total, each) => total + each, 0);
  if (sum !== size)
    invalid(`dynamicAxes: ${quote(name)} must be the sum of its sizes, ${sum}, got ${size}`, { name });
}

/** @throws MP_INVALID_ARGUMENT */
export function invalid(message: string, details: Readonly<Record<string, unknown>> = {}): never {
  throw new MpError("MP_INVALID_ARGUMENT", `exportOnnx: ${message}`, { details });
}
