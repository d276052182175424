/** Opens NCCL and CUDA's runtime. Knows nothing about ranks. */
import { MpError } from "@mp/graph";
import koffi from "koffi";
import { bindFunctions, cells, type Functions, ID_TYPE, type Unavailable } from "../bindings.js";

/** Constants of nccl.h and cuda_runtime_api.h. */
export const VALUES = {
  FLOAT32: 7,
  SUM: 0,
  UNIQUE_ID_BYTES: 128,
  HOST_TO_DEVICE: 1,
  DEVICE_TO_HOST: 2,
  STREAM_NON_BLOCKING: 1,
  NOT_READY: 600,
} as const;

/** NCCL's functions by name without the prefix `nccl`. */
const NCCL = {
  GetVersion: ["memory"],
  GetUniqueId: ["memory"],
  CommInitRank: ["memory", "int", "id", "int"],
  AllReduce: ["memory", "memory", "count", "int", "int", "handle", "handle"],
  CommGetAsyncError: ["handle", "memory"],
  CommAbort: ["handle"],
  CommDestroy: ["handle"],
  GetErrorString: ["int"],
} as const;

/** Functions of CUDA's runtime by name without the prefix `cuda`. */
const CUDA = {
  GetDeviceCount: ["memory"],
  SetDevice: ["int"],
  Malloc: ["memory", "count"],
  Free: ["handle"],
  MemcpyAsync: ["memory", "memory", "count", "int", "handle"],
  StreamCreateWithFlags: ["memory", "uint"],
  StreamQuery: ["handle"],
  StreamDestroy: ["handle"],
  GetErrorString: ["int"],
} as const;

export interface NcclLibraries {
  readonly nccl: Functions<typeof NCCL>;
  readonly cuda: Functions<typeof CUDA>;
}

export interface LibraryNames {
  readonly library: string;
  readonly cudart: string;
}

/** The first version of NCCL with all of these functions. */
const OLDEST = 21_400;

/** @throws MP_BACKEND_UNAVAILABLE for a library that does not load, or an NCCL that is too old */
export function openLibraries({ library, cudart }: LibraryNames): NcclLibraries {
  declareUniqueId();
  const cuda = bindFunctions(cudart, "cuda", CUDA, unavailable);
  const nccl = bindFunctions(library, "nccl", NCCL, unavailable);
  const version = cells(Int32Array);
  const code = nccl.GetVersion(version);
  if (code !== 0 || (version[0] ?? 0) < OLDEST)
    throw unavailable(library, `is NCCL ${version[0]}, 2.14 or later is needed`);
  return { nccl, cuda };
}

/** Declares the type of NCCL's identifier, which is passed by value. */
function declareUniqueId(): void {
  try {
    koffi.struct(ID_TYPE, { internal: koffi.array("uint8_t", VALUES.UNIQUE_ID_BYTES, "Array") });
  } catch {
    // koffi knows it from an earlier call.
  }
}

const INSTALL = "pip install nvidia-nccl-cu12 nvidia-cuda-runtime-cu12";

const unavailable: Unavailable = (path, problem, cause) =>
  new MpError(
    "MP_BACKEND_UNAVAILABLE",
    `NCCL: ${path} ${problem}; install it with: ${INSTALL}, and name the libraries in MP_NCCL_LIBRARY and MP_CUDART_LIBRARY`,
    { details: { file: path, install: INSTALL }, cause },
  );
