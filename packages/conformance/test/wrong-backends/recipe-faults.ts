/** Engines that quantize wrongly, each as a library did. */
import { decode, encode, type HostTensor, tensor } from "@mp/graph";
import { commitsAsBound, committing } from "./committing.js";
import { afterwards, dataOf, evaluateNode, type HostKernel, oracleWithKernels } from "./kernels.js";
import type { WrongBackend } from "./wrong-backend.js";

const changed = (result: HostTensor, f: (numbers: Float32Array) => Iterable<number>): HostTensor =>
  result.dtype === "f32" ? tensor(Float32Array.from(f(result.data as Float32Array)), result.shape) : result;

const zeroedGradients: HostKernel<"Cast"> = (inputs, attributes) =>
  evaluateNode("Cast", dataOf(inputs), attributes).map((result) =>
    result.dtype === "f8e5m2" ? { ...result, data: (result.data as Uint8Array).map(() => 0) } : result,
  ) as readonly HostTensor[];

const inBfloat16 = (x: number): number => decode("bf16", encode("bf16", x));

const codes = (...names: readonly string[]): readonly string[] => names.map((name) => `recipe/${name}/codes`);
const steps = (...names: readonly string[]): readonly string[] => names.map((name) => `recipe/${name}/step`);

const fault = (
  fault: string,
  kernels: Parameters<typeof oracleWithKernels>[0],
  named: readonly string[],
  consequences: WrongBackend["consequences"] = [/\/step$/, /^recipe\/delayed\//],
): WrongBackend => ({
  fault,
  factory: () => oracleWithKernels(kernels),
  axes: ["recipe"],
  named,
  consequences,
});

export const recipeFaults: readonly WrongBackend[] = [
  fault("gradients of 8 bits are zero", { Cast: zeroedGradients }, steps("tensor", "row")),
  fault(
    "the largest magnitude is rounded to bfloat16 first",
    { ReduceMax: afterwards("ReduceMax", (result) => changed(result, (x) => x.map(inBfloat16))) },
    codes("tensor", "row", "blocks-of-128", "mxfp8", "mxfp4", "nvfp4"),
  ),
  fault(
    "the scale of an empty block is that of a number",
    {
      Equal: afterwards("Equal", (result, [a, b]) =>
        b?.shape.length === 0 && a?.dtype === "f32" && (b.data as Float32Array)[0] === 0
          ? tensor(new Uint8Array(result.data.length), result.shape, "bool")
          : result,
      ),
    },
    codes("row", "blocks-of-128", "mxfp8", "mxfp4"),
  ),
  fault(
    "scales of blocks are in the wrong order",
    { ReduceMax: afterwards("ReduceMax", (result) => changed(result, (x) => x.toReversed())) },
    codes("row", "blocks-of-128", "mxfp8", "mxfp4", "nvfp4"),
  ),
  fault(
    "the two codes of a byte are swapped",
    {
      Round: afterwards("Round", (result) => changed(result, (x) => x.map((_, at) => x[at ^ 1] as number))),
    },
    codes("mxfp4", "nvfp4"),
  ),
  {
    fault: "the history of magnitudes moves though the step is skipped",
    factory: () =>
      committing({
        commits: (binding, applied) => binding.slot.startsWith("recipe") || commitsAsBound(binding, applied),
      }),
    axes: ["recipe"],
    named: ["recipe/delayed/history-and-scales-of-200-steps"],
  },
];
