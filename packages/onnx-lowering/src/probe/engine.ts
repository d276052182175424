import type { HalfDType, HostTensor, ValueType } from "@mp/graph";
import type { Target } from "../lowerings/target.js";

/** An engine to probe: its device, and a function that runs a model once. */
export interface ProbedEngine {
  readonly device: Target["device"];
  /** Version of the engine, such as 1.30.0. Findings listed for a version are not probed again. */
  readonly version: string;
  /** Half dtypes in which the hardware multiplies matrices; undefined for ONNX Runtime, which is probed. */
  readonly products?: readonly HalfDType[] | undefined;
  /**
   * Loads a model, runs it once, entirely on the device, and returns its outputs by name. Throws an MpError for a
   * model that the engine cannot load or run; MP_OUT_OF_MEMORY says nothing about its kernels.
   */
  readonly runModel: (
    model: Uint8Array,
    inputs: ReadonlyMap<string, HostTensor>,
    outputs: ReadonlyMap<string, ValueType>,
  ) => Promise<ReadonlyMap<string, HostTensor>>;
}
