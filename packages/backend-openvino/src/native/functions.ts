import koffi, { type TypeObject } from "koffi";

/** A box for one pointer that a C function returns. */
export type Out = [bigint | null];

/** ov_shape_t, passed by value. */
export interface NativeShape {
  readonly rank: bigint;
  readonly dims: BigInt64Array;
}

/** ov_profiling_info_t: the counters of one node of a compiled model. */
export interface NativeCounter {
  readonly status: number;
  /** Microseconds. */
  readonly realTime: bigint;
  readonly nodeName: string;
  readonly nodeType: string;
  readonly execType: string;
}

type Handle = bigint;
type Done = (error: Error | null, status: number) => void;

/** The C functions that are used. Functions that can fail return a status. */
export interface NativeFunctions {
  ov_get_last_err_msg(): string | null;
  ov_get_openvino_version(version: [Readonly<Record<"buildNumber" | "description", string>>]): number;
  ov_core_create(out: Out): number;
  ov_core_free(core: Handle): void;
  ov_core_get_property(core: Handle, device: string, key: string, out: [string | null]): number;
  readonly ov_core_read_model_from_memory_buffer: {
    (core: Handle, model: Uint8Array, bytes: number, weights: null, out: Out): number;
    async(core: Handle, model: Uint8Array, bytes: number, weights: null, out: Out, done: Done): void;
  };
  readonly ov_core_compile_model_props: {
    async(
      core: Handle,
      model: Handle,
      device: string,
      count: number,
      properties: readonly Readonly<Record<"key" | "value", string>>[],
      out: Out,
      done: Done,
    ): void;
  };
  ov_model_free(model: Handle): void;
  ov_compiled_model_get_property(model: Handle, key: string, out: [string | null]): number;
  ov_compiled_model_free(model: Handle): void;
  ov_compiled_model_create_infer_request(model: Handle, out: Out): number;
  ov_infer_request_free(request: Handle): void;
  ov_infer_request_set_tensor(request: Handle, name: string, tensor: Handle): number;
  ov_infer_request_infer(request: Handle): number;
  ov_infer_request_start_async(request: Handle): number;
  readonly ov_infer_request_wait: { async(request: Handle, done: Done): void };
  ov_infer_request_get_profiling_info(
    request: Handle,
    counters: [Readonly<Record<"infos" | "size", bigint>>],
  ): number;
  ov_profiling_info_list_free(counters: Readonly<Record<"infos" | "size", bigint>>): void;
  ov_tensor_create(type: number, shape: NativeShape, out: Out): number;
  ov_tensor_create_from_host_ptr(type: number, shape: NativeShape, memory: Handle, out: Out): number;
  ov_tensor_data(tensor: Handle, out: Out): number;
  ov_tensor_free(tensor: Handle): void;
}

koffi.struct("ov_shape_t", { rank: "int64_t", dims: "int64_t *" });
koffi.struct("ov_version_t", { buildNumber: "const char *", description: "const char *" });

koffi.struct("ov_property_t", { key: "const char *", value: "const char *" });

/** The layout of `NativeCounter` in C; `ov_profiling_info_list_t` points to an array of these. */
export const COUNTER: TypeObject = koffi.struct("ov_profiling_info_t", {
  status: "int",
  realTime: "int64_t",
  cpuTime: "int64_t",
  nodeName: "const char *",
  execType: "const char *",
  nodeType: "const char *",
});
koffi.struct("ov_profiling_info_list_t", { infos: "ov_profiling_info_t *", size: "size_t" });

/** The C signature of each function. */
export const FUNCTIONS: Readonly<
  Record<keyof NativeFunctions, readonly [result: string, parameters: string]>
> = {
  ov_get_last_err_msg: ["const char *", ""],
  ov_get_openvino_version: ["int", "_Out_ ov_version_t *version"],
  ov_core_create: ["int", "_Out_ void **out"],
  ov_core_free: ["void", "void *core"],
  ov_core_get_property: ["int", "void *core, const char *device, const char *key, _Out_ const char **out"],
  ov_core_read_model_from_memory_buffer: [
    "int",
    "void *core, const void *model, size_t bytes, void *weights, _Out_ void **out",
  ],
  ov_core_compile_model_props: [
    "int",
    "void *core, void *model, const char *device, size_t count, ov_property_t *properties, _Out_ void **out",
  ],
  ov_model_free: ["void", "void *model"],
  ov_compiled_model_get_property: ["int", "void *model, const char *key, _Out_ const char **out"],
  ov_compiled_model_free: ["void", "void *model"],
  ov_compiled_model_create_infer_request: ["int", "void *model, _Out_ void **out"],
  ov_infer_request_free: ["void", "void *request"],
  ov_infer_request_set_tensor: ["int", "void *request, const char *name, void *tensor"],
  ov_infer_request_infer: ["int", "void *request"],
  ov_infer_request_start_async: ["int", "void *request"],
  ov_infer_request_wait: ["int", "void *request"],
  ov_infer_request_get_profiling_info: ["int", "void *request, _Out_ ov_profiling_info_list_t *counters"],
  ov_profiling_info_list_free: ["void", "ov_profiling_info_list_t *counters"],
  ov_tensor_create: ["int", "int type, ov_shape_t shape, _Out_ void **out"],
  ov_tensor_create_from_host_ptr: ["int", "int type, ov_shape_t shape, void *memory, _Out_ void **out"],
  ov_tensor_data: ["int", "void *tensor, _Out_ void **out"],
  ov_tensor_free: ["void", "void *tensor"],
};
