/** The release of OpenVINO that is installed and tested. */
export const RELEASE = "2026.4.1";
/** SHA-256 in the index of openvino-2026.4.1-22982-cp311-cp311-manylinux_2_28_x86_64.whl. */
export const WHEEL_SHA256 = "2d22b1da03f7caf74df30e9f6417d0ab2f637e4a38e08e1dcd294d2c37407aaf";

/** File name of the library with the C interface. */
export const LIBRARY_FILE = "libopenvino_c.so.2641";

/**
 * Files that are needed to compute on a processor: the C interface, the core, the processor plugin, the readers of
 * ONNX and of cached models, and the thread pool.
 */
export const FILES: readonly string[] = [
  LIBRARY_FILE,
  "libopenvino.so.2641",
  "libopenvino_intel_cpu_plugin.so",
  "libopenvino_onnx_frontend.so.2641",
  "libopenvino_ir_frontend.so.2641",
  "libtbb.so.12",
  "libtbbbind_2_5.so.3",
  "libtbbmalloc.so.2",
  "libhwloc.so.15",
];
