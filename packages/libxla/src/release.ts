/** A wheel of the Python package index to install, pinned by its SHA-256 there. */
type Pinned = readonly [project: string, version: string, sha256: string];

/** The version of the plugin, which identifies a release. */
export const VERSION = "0.12.0.1";

/** XLA's plugin for NVIDIA's GPUs, and the assembler and device library that it compiles with. */
const COMPILER: readonly Pinned[] = [
  ["jax-cuda13-pjrt", VERSION, "5899bb6177eda86ea532afb9a26794f2bdd04966f6a01f9028266b16c2b6cf90"],
  ["nvidia-cuda-nvcc", "13.5.37", "f5c4f7ead5d964fb4af42bbf1e6d3ec3c1e6e9d83b53749f691d387e7fcaa3a7"],
  ["nvidia-nvvm", "13.5.37", "c41bfa362e407405163f103c2229f0765f8cc2ed7d148b754dc77f228bf7e070"],
];

/** Libraries that compute on one GPU. Several GPUs in one process would also need `nvidia-nccl-cu13`. */
const LIBRARIES: readonly Pinned[] = [
  ["nvidia-cublas", "13.8.2.12", "21721774d8e7044debec3034ecc1a8cd22e173eb6dae5d7f5f8a014852382894"],
  ["nvidia-cudnn-cu13", "9.28.1.4", "a54f205b1db1f2895d99f398754db1369816f0569dd459731f925635cf7b65ec"],
  ["nvidia-cuda-runtime", "13.5.37", "df2b79a8852f10d1fef8c848489c49eebb5754051bf870202a862831412b179d"],
  ["nvidia-cuda-nvrtc", "13.5.37", "86b4d68058807988b7d9af5b44917a0601e9c337f35ccd657bfb3c759ff8d8bc"],
  ["nvidia-nvjitlink", "13.5.37", "280d7cb9649704145f074b8dbde500de04ce02d0872e066e20a83c17bcaa93eb"],
];

interface Release {
  readonly wheels: readonly Pinned[];
  /** The space needed, with the download. */
  readonly space: string;
}

export type ReleaseName = "cuda13" | "cuda13-compiler";

/** Releases by the name that users give. `cuda13-compiler` only compiles for a GPU, and cannot compute on one. */
export const RELEASES: Readonly<Record<ReleaseName, Release>> = {
  cuda13: { wheels: [...COMPILER, ...LIBRARIES], space: "3 GB are needed" },
  "cuda13-compiler": { wheels: COMPILER, space: "0.8 GB is needed" },
};

/** The plugin below the folder of a release; it looks for the libraries relative to itself. */
export const PLUGIN_FILE = "jax_plugins/xla_cuda13/xla_cuda_plugin.so";
