// Runs one of the ONNX project's node tests: its model, read and evaluated by the reference, gives the expected values,
// or is refused with a code.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type HostTensor, MpError } from "@mp/core";
import { decode, type FloatDType, type Graph, isFloat } from "@mp/core/graph";
import { evaluate } from "@mp/core/reference";
import { decodeModel, type OnnxModel, readGraph } from "@mp/onnx";

export interface NodeTest {
  readonly name: string;
  /** Why the test is left out of the counts, such as `strings`; empty if it is counted. */
  readonly kind: string;
  readonly ops: readonly string[];
  readonly rtol: number;
  readonly atol: number;
}

export type Outcome =
  | { readonly result: "passed" }
  | { readonly result: "refused"; readonly code: string; readonly reason: string }
  | { readonly result: "wrong" | "raw error"; readonly reason: string };

/** Dtypes that replace those without a counterpart in a graph. */
export const READ_AS = { DOUBLE: "f32", INT8: "i32", INT16: "i32", UINT16: "i32", UINT32: "i64" } as const;

type Tensors = Readonly<Record<string, HostTensor>>;

/** Runs a graph once. */
export type RunGraph = (graph: Graph, inputs: Tensors) => Promise<Tensors>;

export async function runNodeTest(
  folder: string,
  test: NodeTest,
  run: RunGraph = async (graph, inputs) => evaluate(graph, inputs),
): Promise<Outcome> {
  const [model, data] = await Promise.all(
    [`${test.name}.onnx`, `${test.name}.data.onnx`].map((file) => readFile(join(folder, file))),
  );
  if (model === undefined || data === undefined) throw new Error("internal: two files");
  try {
    const given = new Map(
      decodeModel(data, { readAs: READ_AS }).graph.initializers.map(({ name, tensor }) => [name, tensor]),
    );
    return await evaluateTest(decodeModel(model, { readAs: READ_AS }), given, test, run);
  } catch (error) {
    if (!MpError.is(error)) return { result: "raw error", reason: String(error) };
    return { result: "refused", code: error.code, reason: error.message };
  }
}

const KNOWN_BEFORE = /has to be known beforehand/;

/**
 * Evaluates a test. Tests give shapes, axes and counts as inputs, but a graph of static shapes has them as attributes.
 * So if the reader must know a value beforehand, inputs become initializers, integer inputs first.
 */
async function evaluateTest(
  model: OnnxModel,
  data: ReadonlyMap<string, HostTensor>,
  test: NodeTest,
  run: RunGraph,
): Promise<Outcome> {
  const inputs = model.graph.inputs.flatMap(({ name }, index) => {
    const tensor = data.get(`in/${index}`);
    return tensor === undefined ? [] : [{ name, tensor }];
  });
  const attempts = [
    () => false,
    (tensor: HostTensor, index: number) => index > 0 && !isFloat(tensor.dtype),
    (_: HostTensor, index: number) => index > 0,
    () => true,
  ];
  let refusal: unknown;
  for (const isKnown of attempts) {
    const known = inputs.filter(({ tensor }, index) => isKnown(tensor, index));
    const graph = {
      ...model.graph,
      inputs: model.graph.inputs.filter(({ name }) => !known.some((each) => each.name === name)),
      initializers: [...model.graph.initializers, ...known],
    };
    try {
      const read = readGraph({ ...model, graph }, { isParameter: () => false });
      const free = inputs.filter(({ name }) => read.graph.inputs.some((input) => input.name === name));
      const found = await run(read.graph, Object.fromEntries(free.map(({ name, tensor }) => [name, tensor])));
      return compareOutputs(model, found, data, test);
    } catch (error) {
      if (!MpError.is(error) || !KNOWN_BEFORE.test(error.message)) throw error;
      refusal = error;
    }
  }
  throw refusal;
}

function compareOutputs(
  model: OnnxModel,
  found: Readonly<Record<string, HostTensor>>,
  data: ReadonlyMap<string, HostTensor>,
  { rtol, atol }: NodeTest,
): Outcome {
  for (const [index, { name }] of model.graph.outputs.entries()) {
    const [a, b] = [found[name], data.get(`out/${index}`)];
    if (a === undefined || b === undefined) return { result: "wrong", reason: `no output ${name}` };
    if (a.dtype !== b.dtype || a.shape.join() !== b.shape.join())
      return { result: "wrong", reason: `${name} is ${a.dtype}[${a.shape}], not ${b.dtype}[${b.shape}]` };
    const [got, wanted] = [toNumbers(a), toNumbers(b)];
    // Allows two ulps, because expected f16 and bf16 values may be rounded once more or less than ours.
    const relative = Math.max(rtol, a.dtype === "bf16" ? 2 ** -6 : a.dtype === "f16" ? 2 ** -9 : 0);
    // Allows the f32 rounding error that remains where terms cancel: half an ulp of the largest value.
    const absolute = Math.max(atol, isFloat(a.dtype) ? 2 ** -24 * largestFinite(wanted) : 0);
    const at = got.findIndex((value, place) => {
      const want = wanted[place] as number;
      return (
        !Object.is(value, want) &&
        value !== want &&
        !(Math.abs(value - want) <= absolute + relative * Math.abs(want))
      );
    });
    if (at >= 0) return { result: "wrong", reason: `${name}[${at}] is ${got[at]}, not ${wanted[at]}` };
  }
  return { result: "passed" };
}

const largestFinite = (numbers: readonly number[]): number =>
  numbers.reduce((most, number) => (Number.isFinite(number) ? Math.max(most, Math.abs(number)) : most), 0);

function toNumbers({ dtype, data }: HostTensor): readonly number[] {
  if (!isFloat(dtype) || data instanceof Float32Array)
    return Array.from(data as ArrayLike<number | bigint>, Number);
  return Array.from(data as ArrayLike<number>, (bits) => decode(dtype as FloatDType, bits));
}
