/** Opens NCCL and CUDA's runtime, and binds what is used of them. Knows nothing about ranks. */
import { MpError } from "@mp/core";
import koffi from "koffi";

/** Values of nccl.h and cuda_runtime_api.h. */
export const VALUES = {
  FLOAT32: 7,
  SUM: 0,
  UNIQUE_ID_BYTES: 128,
  HOST_TO_DEVICE: 1,
  DEVICE_TO_HOST: 2,
  STREAM_NON_BLOCKING: 1,
  NOT_READY: 600,
} as const;

/** Memory that the library writes or reads: memory of the caller, an address, or null. */
type Memory = ArrayBufferView | bigint | null;

/** NCCL's functions by their names without `nccl`. All but the last return a code, 0 for success. */
export interface NcclFunctions {
  GetVersion(version: Memory): number;
  GetUniqueId(id: Memory): number;
  CommInitRank(comm: Memory, size: number, id: object, rank: number): number;
  AllReduce(
    send: Memory,
    receive: Memory,
    count: number,
    type: number,
    operation: number,
    comm: Memory,
    stream: Memory,
  ): number;
  CommGetAsyncError(comm: Memory, code: Memory): number;
  CommAbort(comm: Memory): number;
  CommDestroy(comm: Memory): number;
  GetErrorString(code: number): string;
}

/** The runtime's functions by their names without `cuda`. All but the last return a code, 0 for success. */
export interface CudaFunctions {
  GetDeviceCount(count: Memory): number;
  SetDevice(device: number): number;
  Malloc(address: Memory, bytes: number): number;
  Free(address: Memory): number;
  MemcpyAsync(to: Memory, from: Memory, bytes: number, kind: number, stream: Memory): number;
  StreamCreateWithFlags(stream: Memory, flags: number): number;
  StreamQuery(stream: Memory): number;
  StreamDestroy(stream: Memory): number;
  GetErrorString(code: number): string;
}

const UNIQUE_ID = "mp_nccl_unique_id";

const NCCL: Readonly<Record<keyof NcclFunctions, readonly [result: string, ...parameters: string[]]>> = {
  GetVersion: ["int", "void *"],
  GetUniqueId: ["int", "void *"],
  CommInitRank: ["int", "void *", "int", UNIQUE_ID, "int"],
  AllReduce: ["int", "void *", "void *", "size_t", "int", "int", "void *", "void *"],
  CommGetAsyncError: ["int", "void *", "void *"],
  CommAbort: ["int", "void *"],
  CommDestroy: ["int", "void *"],
  GetErrorString: ["const char *", "int"],
};

const CUDA: Readonly<Record<keyof CudaFunctions, readonly [result: string, ...parameters: string[]]>> = {
  GetDeviceCount: ["int", "void *"],
  SetDevice: ["int", "int"],
  Malloc: ["int", "void *", "size_t"],
  Free: ["int", "void *"],
  MemcpyAsync: ["int", "void *", "void *", "size_t", "int", "void *"],
  StreamCreateWithFlags: ["int", "void *", "uint"],
  StreamQuery: ["int", "void *"],
  StreamDestroy: ["int", "void *"],
  GetErrorString: ["const char *", "int"],
};

export interface NcclLibraries {
  readonly nccl: NcclFunctions;
  readonly cuda: CudaFunctions;
}

export interface LibraryNames {
  readonly library: string;
  readonly cudart: string;
}

/** The first version with what is used here. */
const OLDEST = 21_400;

/** @throws MP_BACKEND_UNAVAILABLE for a library that does not load, or an old NCCL */
export function openLibraries({ library, cudart }: LibraryNames): NcclLibraries {
  declareUniqueId();
  const cuda = bound<CudaFunctions>("cuda", cudart, CUDA);
  const nccl = bound<NcclFunctions>("nccl", library, NCCL);
  const version = new Int32Array(new ArrayBuffer(4));
  const code = nccl.GetVersion(version);
  if (code !== 0 || (version[0] ?? 0) < OLDEST)
    throw unavailable(library, `is NCCL ${version[0]}, 2.14 or later is needed`);
  return { nccl, cuda };
}

/** NCCL takes its identifier by value. */
function declareUniqueId(): void {
  try {
    koffi.struct(UNIQUE_ID, { internal: koffi.array("uint8_t", VALUES.UNIQUE_ID_BYTES, "Array") });
  } catch {
    // koffi knows it from an earlier call.
  }
}

function bound<F>(
  prefix: string,
  path: string,
  table: Readonly<Record<string, readonly [string, ...string[]]>>,
): F {
  try {
    const library = koffi.load(path);
    const functions = Object.entries(table).map(([name, [result, ...parameters]]) => [
      name,
      library.func(`${prefix}${name}`, result, parameters),
    ]);
    return Object.freeze(Object.fromEntries(functions)) as F;
  } catch (cause) {
    throw unavailable(
      path,
      `does not load (${cause instanceof Error ? cause.message : String(cause)})`,
      cause,
    );
  }
}

const INSTALL = "pip install nvidia-nccl-cu12 nvidia-cuda-runtime-cu12";

function unavailable(path: string, problem: string, cause?: unknown): MpError {
  return new MpError(
    "MP_BACKEND_UNAVAILABLE",
    `NCCL: ${path} ${problem}; install it with: ${INSTALL}, and name the libraries in MP_NCCL_LIBRARY and MP_CUDART_LIBRARY`,
    { details: { file: path, install: INSTALL }, cause },
  );
}
