/**
 * The functions of `OrtApi` that are used, one row each: its index in the table of pointers, its result and its
 * parameters. The table only grows at its end, so indices are stable. Indices and signatures were read from
 * onnxruntime_c_api.h at ORT_API_VERSION 29.
 */

/** The version requested from the library; 29 came with release 1.29, and later releases still support it. */
export const ORT_API_VERSION: number = 29;

/**
 * Our names for C parameter types. `memory` is an address, or an array of ours that has to outlive what is made of it. `out` is a typed array that the callee writes one or more words into; `path` is
 * ORTCHAR_T, wide on Windows.
 */
export interface ParameterTypes {
  readonly handle: bigint;
  readonly nullable: bigint | null;
  readonly out: BigUint64Array | BigInt64Array | Int32Array;
  readonly bytes: Uint8Array;
  readonly memory: bigint | Uint8Array;
  readonly dimensions: BigInt64Array;
  readonly size: number;
  readonly int: number;
  readonly string: string;
  readonly strings: readonly string[];
  readonly handles: BigUint64Array;
  readonly path: string;
}

/** `status` is null for success, else an OrtStatus that has to be released. */
export interface ResultTypes {
  readonly status: bigint | null;
  readonly void: undefined;
  readonly int: number;
  readonly string: string;
}

export interface ApiRow {
  readonly index: number;
  readonly result: keyof ResultTypes;
  readonly parameters: readonly (keyof ParameterTypes)[];
}

export const API_TABLE = {
  GetErrorCode: { index: 1, result: "int", parameters: ["handle"] },
  GetErrorMessage: { index: 2, result: "string", parameters: ["handle"] },
  CreateSessionFromArray: {
    index: 8,
    result: "status",
    parameters: ["handle", "bytes", "size", "handle", "out"],
  },
  CreateSessionOptions: { index: 10, result: "status", parameters: ["out"] },
  DisableMemPattern: { index: 17, result: "status", parameters: ["handle"] },
  DisableCpuMemArena: { index: 19, result: "status", parameters: ["handle"] },
  SetSessionGraphOptimizationLevel: { index: 23, result: "status", parameters: ["handle", "int"] },
  SetIntraOpNumThreads: { index: 24, result: "status", parameters: ["handle", "int"] },
  SessionGetInputCount: { index: 30, result: "status", parameters: ["handle", "out"] },
  SessionGetOutputCount: { index: 31, result: "status", parameters: ["handle", "out"] },
  SessionGetInputName: { index: 36, result: "status", parameters: ["handle", "size", "handle", "out"] },
  SessionGetOutputName: { index: 37, result: "status", parameters: ["handle", "size", "handle", "out"] },
  CreateRunOptions: { index: 39, result: "status", parameters: ["out"] },
  CreateTensorAsOrtValue: {
    index: 48,
    result: "status",
    parameters: ["handle", "dimensions", "size", "int", "out"],
  },
  CreateTensorWithDataAsOrtValue: {
    index: 49,
    result: "status",
    parameters: ["handle", "memory", "size", "dimensions", "size", "int", "out"],
  },
  GetTensorMutableData: { index: 51, result: "status", parameters: ["handle", "out"] },
  CreateMemoryInfo: { index: 68, result: "status", parameters: ["string", "int", "int", "int", "out"] },
  CreateCpuMemoryInfo: { index: 69, result: "status", parameters: ["int", "int", "out"] },
  AllocatorFree: { index: 76, result: "status", parameters: ["handle", "handle"] },
  GetAllocatorWithDefaultOptions: { index: 78, result: "status", parameters: ["out"] },
  ReleaseEnv: { index: 92, result: "void", parameters: ["handle"] },
  ReleaseStatus: { index: 93, result: "void", parameters: ["handle"] },
  ReleaseMemoryInfo: { index: 94, result: "void", parameters: ["handle"] },
  ReleaseSession: { index: 95, result: "void", parameters: ["handle"] },
  ReleaseValue: { index: 96, result: "void", parameters: ["handle"] },
  ReleaseRunOptions: { index: 97, result: "void", parameters: ["handle"] },
  ReleaseSessionOptions: { index: 100, result: "void", parameters: ["handle"] },
  CreateEnvWithGlobalThreadPools: {
    index: 119,
    result: "status",
    parameters: ["int", "string", "handle", "out"],
  },
  DisablePerSessionThreads: { index: 120, result: "status", parameters: ["handle"] },
  CreateThreadingOptions: { index: 121, result: "status", parameters: ["out"] },
  ReleaseThreadingOptions: { index: 122, result: "void", parameters: ["handle"] },
  AddSessionConfigEntry: { index: 130, result: "status", parameters: ["handle", "string", "string"] },
  CreateAllocator: { index: 131, result: "status", parameters: ["handle", "handle", "out"] },
  ReleaseAllocator: { index: 132, result: "void", parameters: ["handle"] },
  RunWithBinding: { index: 133, result: "status", parameters: ["handle", "nullable", "handle"] },
  CreateIoBinding: { index: 134, result: "status", parameters: ["handle", "out"] },
  ReleaseIoBinding: { index: 135, result: "void", parameters: ["handle"] },
  BindInput: { index: 136, result: "status", parameters: ["handle", "string", "handle"] },
  BindOutput: { index: 137, result: "status", parameters: ["handle", "string", "handle"] },
  CreateAndRegisterAllocator: { index: 144, result: "status", parameters: ["handle", "handle", "handle"] },
  SetGlobalIntraOpNumThreads: { index: 147, result: "status", parameters: ["handle", "int"] },
  SetGlobalSpinControl: { index: 149, result: "status", parameters: ["handle", "int"] },
  CreateArenaCfg: { index: 156, result: "status", parameters: ["size", "int", "int", "int", "out"] },
  ReleaseArenaCfg: { index: 157, result: "void", parameters: ["handle"] },
  AddRunConfigEntry: { index: 165, result: "status", parameters: ["handle", "string", "string"] },
  AppendExecutionProviderCuda: { index: 204, result: "status", parameters: ["handle", "handle"] },
  CreateCudaProviderOptions: { index: 205, result: "status", parameters: ["out"] },
  UpdateCudaProviderOptions: {
    index: 206,
    result: "status",
    parameters: ["handle", "strings", "strings", "size"],
  },
  ReleaseCudaProviderOptions: { index: 208, result: "void", parameters: ["handle"] },
  AddExternalInitializers: {
    index: 210,
    result: "status",
    parameters: ["handle", "strings", "handles", "size"],
  },
  AppendExecutionProvider: {
    index: 216,
    result: "status",
    parameters: ["handle", "string", "strings", "strings", "size"],
  },
  GetBuildInfoString: { index: 254, result: "string", parameters: [] },
  GetKeyValuePairs: { index: 298, result: "void", parameters: ["handle", "out", "out", "out"] },
  ReleaseKeyValuePairs: { index: 300, result: "void", parameters: ["handle"] },
  AllocatorGetStats: { index: 319, result: "status", parameters: ["handle", "out"] },
  CopyTensors: {
    index: 386,
    result: "status",
    parameters: ["handle", "handles", "handles", "nullable", "size"],
  },
  Session_GetEpGraphAssignmentInfo: { index: 407, result: "status", parameters: ["handle", "out", "out"] },
  EpAssignedSubgraph_GetEpName: { index: 408, result: "status", parameters: ["handle", "out"] },
  EpAssignedSubgraph_GetNodes: { index: 409, result: "status", parameters: ["handle", "out", "out"] },
  EpAssignedNode_GetName: { index: 410, result: "status", parameters: ["handle", "out"] },
  EpAssignedNode_GetOperatorType: { index: 412, result: "status", parameters: ["handle", "out"] },
  RunOptionsEnableProfiling: { index: 415, result: "status", parameters: ["handle", "path"] },
} as const;

export type ApiName = keyof typeof API_TABLE;

type Arguments<P extends readonly (keyof ParameterTypes)[]> = {
  -readonly [I in keyof P]: ParameterTypes[P[I]];
};

type Result<N extends ApiName> = ResultTypes[(typeof API_TABLE)[N]["result"]];

/** A bound C function; `async` runs it on a worker thread and does not block the event loop. */
export type NativeFunction<N extends ApiName> = {
  (...parameters: Arguments<(typeof API_TABLE)[N]["parameters"]>): Result<N>;
  async(
    ...parameters: [
      ...Arguments<(typeof API_TABLE)[N]["parameters"]>,
      (error: Error | null, result: Result<N>) => void,
    ]
  ): void;
};

export type NativeFunctions = { readonly [N in ApiName]: NativeFunction<N> };
