/**
 * The functions of `OrtApi` that are used, one row each: index in the pointer table, result, parameters. The
 * pointer table only grows at its end, so indices are stable. Indices and signatures come from
 * onnxruntime_c_api.h at ORT_API_VERSION 29.
 */

/** The API version requested from the library; 29 came with release 1.29, and later releases still support it. */
export const ORT_API_VERSION: number = 29;

/**
 * C parameter types, by the names used here. `memory` is an address, or an array that must outlive the object
 * made from it. `out` is a typed array into which the callee writes words. `path` is ORTCHAR_T, which is wide
 * on Windows.
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

/** C result types. `status` is null for success, else an OrtStatus that must be released. */
export interface ResultTypes {
  readonly status: bigint | null;
  readonly void: undefined;
  readonly int: number;
  readonly string: string;
}

export type ApiRow = readonly [
  index: number,
  result: keyof ResultTypes,
  ...parameters: (keyof ParameterTypes)[],
];

export const API_TABLE = {
  GetErrorCode: [1, "int", "handle"],
  GetErrorMessage: [2, "string", "handle"],
  CreateSessionFromArray: [8, "status", "handle", "bytes", "size", "handle", "out"],
  CreateSessionOptions: [10, "status", "out"],
  DisableMemPattern: [17, "status", "handle"],
  DisableCpuMemArena: [19, "status", "handle"],
  SetSessionGraphOptimizationLevel: [23, "status", "handle", "int"],
  SetIntraOpNumThreads: [24, "status", "handle", "int"],
  SessionGetInputCount: [30, "status", "handle", "out"],
  SessionGetOutputCount: [31, "status", "handle", "out"],
  SessionGetInputName: [36, "status", "handle", "size", "handle", "out"],
  SessionGetOutputName: [37, "status", "handle", "size", "handle", "out"],
  CreateRunOptions: [39, "status", "out"],
  CreateTensorAsOrtValue: [48, "status", "handle", "dimensions", "size", "int", "out"],
  CreateTensorWithDataAsOrtValue: [
    49,
    "status",
    "handle",
    "memory",
    "size",
    "dimensions",
    "size",
    "int",
    "out",
  ],
  GetTensorMutableData: [51, "status", "handle", "out"],
  CreateMemoryInfo: [68, "status", "string", "int", "int", "int", "out"],
  CreateCpuMemoryInfo: [69, "status", "int", "int", "out"],
  AllocatorFree: [76, "status", "handle", "handle"],
  GetAllocatorWithDefaultOptions: [78, "status", "out"],
  ReleaseEnv: [92, "void", "handle"],
  ReleaseStatus: [93, "void", "handle"],
  ReleaseMemoryInfo: [94, "void", "handle"],
  ReleaseSession: [95, "void", "handle"],
  ReleaseValue: [96, "void", "handle"],
  ReleaseRunOptions: [97, "void", "handle"],
  ReleaseSessionOptions: [100, "void", "handle"],
  CreateEnvWithGlobalThreadPools: [119, "status", "int", "string", "handle", "out"],
  DisablePerSessionThreads: [120, "status", "handle"],
  CreateThreadingOptions: [121, "status", "out"],
  ReleaseThreadingOptions: [122, "void", "handle"],
  AddSessionConfigEntry: [130, "status", "handle", "string", "string"],
  CreateAllocator: [131, "status", "handle", "handle", "out"],
  ReleaseAllocator: [132, "void", "handle"],
  RunWithBinding: [133, "status", "handle", "nullable", "handle"],
  CreateIoBinding: [134, "status", "handle", "out"],
  ReleaseIoBinding: [135, "void", "handle"],
  BindInput: [136, "status", "handle", "string", "handle"],
  BindOutput: [137, "status", "handle", "string", "handle"],
  CreateAndRegisterAllocator: [144, "status", "handle", "handle", "handle"],
  SetGlobalIntraOpNumThreads: [147, "status", "handle", "int"],
  SetGlobalSpinControl: [149, "status", "handle", "int"],
  CreateArenaCfg: [156, "status", "size", "int", "int", "int", "out"],
  ReleaseArenaCfg: [157, "void", "handle"],
  AddRunConfigEntry: [165, "status", "handle", "string", "string"],
  AppendExecutionProviderCuda: [204, "status", "handle", "handle"],
  CreateCudaProviderOptions: [205, "status", "out"],
  UpdateCudaProviderOptions: [206, "status", "handle", "strings", "strings", "size"],
  ReleaseCudaProviderOptions: [208, "void", "handle"],
  AddExternalInitializers: [210, "status", "handle", "strings", "handles", "size"],
  AppendExecutionProvider: [216, "status", "handle", "string", "strings", "strings", "size"],
  GetBuildInfoString: [254, "string"],
  GetKeyValuePairs: [298, "void", "handle", "out", "out", "out"],
  ReleaseKeyValuePairs: [300, "void", "handle"],
  AllocatorGetStats: [319, "status", "handle", "out"],
  CopyTensors: [386, "status", "handle", "handles", "handles", "nullable", "size"],
  Session_GetEpGraphAssignmentInfo: [407, "status", "handle", "out", "out"],
  EpAssignedSubgraph_GetEpName: [408, "status", "handle", "out"],
  EpAssignedSubgraph_GetNodes: [409, "status", "handle", "out", "out"],
  EpAssignedNode_GetName: [410, "status", "handle", "out"],
  EpAssignedNode_GetOperatorType: [412, "status", "handle", "out"],
  RunOptionsEnableProfiling: [415, "status", "handle", "path"],
} as const;

export type ApiName = keyof typeof API_TABLE;

type Parameters<N extends ApiName> = (typeof API_TABLE)[N] extends readonly [unknown, unknown, ...infer P]
  ? { -readonly [I in keyof P]: ParameterTypes[P[I] & keyof ParameterTypes] }
  : never;

type Result<N extends ApiName> = ResultTypes[(typeof API_TABLE)[N][1]];

/** The callback of an asynchronous call. */
export type Done<R> = (error: Error | null, result: R) => void;

/** A bound C function; `async` runs it on a worker thread and does not block the event loop. */
export type NativeFunction<N extends ApiName> = {
  (...parameters: Parameters<N>): Result<N>;
  async(...parameters: [...Parameters<N>, Done<Result<N>>]): void;
};

export type NativeFunctions = { readonly [N in ApiName]: NativeFunction<N> };
