import type { HalfDType, HostTensor, ValueType } from "@mp/graph";
import type { Target } from "../lowerings/target.js";

/** An engine to be probed: the device of its kernels, and a way to run a model once. */
export interface ProbedEngine {
  readonly device: Target["device"];
  /** Version of the engine, such as 1.30.0. What is already known of a version is not probed again. */
  readonly version: string;
  /** The halves whose products its kernels compute in hardware. Undefined for a build of ONNX Runtime, which shows it. */
  readonly products?: readonly HalfDType[] | undefined;
  /**
   * Loads a model, runs it once, entirely on the device, and returns its outputs. Inputs and outputs are by the model's
   * names. A model that the engine cannot load or run is an MpError; MP_OUT_OF_MEMORY says nothing about its kernels.
   */
  readonly runModel: (
    model: Uint8Array,
    inputs: ReadonlyMap<string, HostTensor>,
    outputs: ReadonlyMap<string, ValueType>,
  ) => Promise<ReadonlyMap<string, HostTensor>>;
}
