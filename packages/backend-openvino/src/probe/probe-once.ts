import type { Findings } from "@mp/onnx-lowering";
import { probeEngine } from "@mp/onnx-lowering/probe";
import type { NativeRuntime } from "../native/index.js";
import { hardwareHalves } from "./hardware-halves.js";
import { recallAnswer } from "./recall-answer.js";
import { runOnce } from "./run-once.js";

/** Findings by library. They are kept, because an engine does not change while a process runs. */
const known = new WeakMap<NativeRuntime["library"], Promise<Findings>>();

/**
 * Probes the engine's kernels once per library, processor and release of these packages; the user's cache keeps
 * findings. Afterwards, if bf16 is native, the runtime may fuse operators, because only around casts does fusion save
 * more time than it costs.
 */
export async function probeOnce(runtime: NativeRuntime): Promise<Findings> {
  const { library } = runtime;
  const asked = known.get(library) ?? recallAnswer(runtime, "findings", () => probe(runtime));
  known.set(library, asked);
  // A failure belongs to the runtime that asked; the next runtime probes again.
  asked.catch(() => known.delete(library));
  const findings = await asked;
  runtime.hasSnippets = !findings.emulated.includes("bf16");
  return findings;
}

async function probe(runtime: NativeRuntime): Promise<Findings> {
  const products = await hardwareHalves(runtime);
  runtime.hasSnippets = products.length > 0;
  return probeEngine({
    device: "cpu",
    version: runtime.library.version,
    products,
    runModel: async (...model) => (await runOnce(runtime, ...model)).results,
  });
}
