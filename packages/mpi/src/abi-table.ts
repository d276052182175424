import type { Functions } from "./bindings.js";

/**
 * The part of MPI's standard ABI, version 1 (MPI 5.0, chapter "The MPI ABI"), that this package uses. Handles are
 * pointers with the small values of `mpi_abi.h`.
 */
export const ABI = {
  COMM_WORLD: 0x101n,
  BYTE: 0x247n,
  FLOAT: 0x210n,
  INT64_T: 0x258n,
  SUM: 0x21n,
  INFO_NULL: 0x130n,
  ERRORS_RETURN: 0x143n,
  /** Send buffer that means that the data are in the receive buffer. */
  IN_PLACE: 1n,
  THREAD_SERIALIZED: 2048,
  COMM_TYPE_SHARED: 221,
  MAX_ERROR_STRING: 512,
  MAX_LIBRARY_VERSION_STRING: 8192,
} as const;

/** Functions by their names without `MPI_`. */
export const FUNCTIONS = {
  Init_thread: ["memory", "memory", "int", "memory"],
  Initialized: ["memory"],
  Abi_get_version: ["memory", "memory"],
  Get_library_version: ["memory", "memory"],
  Comm_set_errhandler: ["handle", "handle"],
  Comm_rank: ["handle", "memory"],
  Comm_size: ["handle", "memory"],
  Comm_split_type: ["handle", "int", "int", "handle", "memory"],
  Comm_free: ["memory"],
  Error_string: ["int", "memory", "memory"],
  Iallreduce_c: ["memory", "memory", "count", "handle", "handle", "handle", "memory"],
  Iallgather_c: ["memory", "count", "handle", "memory", "count", "handle", "handle", "memory"],
  Iallgatherv_c: ["memory", "count", "handle", "memory", "memory", "memory", "handle", "handle", "memory"],
  Ibcast_c: ["memory", "count", "handle", "int", "handle", "memory"],
  Ibarrier: ["handle", "memory"],
  Test: ["memory", "memory", "memory"],
  Abort: ["handle", "int"],
  Finalize: [],
} as const;

export type MpiFunctions = Functions<typeof FUNCTIONS>;
