import { GraphBuilder, type HalfDType, ones } from "@mp/graph";
import { halfUnits } from "@mp/graph/probe";
import { lowerGraph, type Target } from "@mp/onnx-lowering";
import type { NativeRuntime } from "../native/index.js";
import { runOnce } from "./run-once.js";

/** The only half dtype to consider: f16 products accumulate in f16. */
const HALF: HalfDType = "bf16";
const SIZE = 64;

const TARGET: Target = {
  device: "cpu",
  emulated: [],
  widened: new Set(),
  blockSize: undefined,
  castsThroughDoubles: false,
};

/** The half dtypes whose products run on half-precision units of the processor, by the names of kernels. */
export async function hardwareHalves(runtime: NativeRuntime): Promise<readonly HalfDType[]> {
  if (!halfUnits("cpu", runtime.processor).includes(HALF)) return [];
  const operand = { dtype: HALF, shape: [SIZE, SIZE] };
  const builder = new GraphBuilder();
  const x = builder.input("x", operand, "batch");
  const graph = builder.finish({ y: builder.emitOne("MatMul", [x, x], {}) });
  const { model, inputName, outputName } = lowerGraph(graph, TARGET);
  const inputs = new Map([[inputName("x"), ones(operand.shape, HALF)]]);
  const { kernels } = await runOnce(runtime, model, inputs, new Map([[outputName("y"), operand]]), true);
  return kernels.some((kernel) => /gemm.*(bf16|amx)/.test(kernel)) ? [HALF] : [];
}
