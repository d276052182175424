import type { SpaceNeed } from "@mp/wheels";

/** The default release, which the backend is tested with. */
export const DEFAULT_RELEASE = "2.21.0";

/** The first release whose wheels have libtensorflow_cc with the whole C interface. */
export const OLDEST_RELEASE = "2.12.0";

/**
 * The CPython version whose wheel is downloaded. Any version would do, because the libraries are the same, and no
 * Python code runs.
 */
export const PYTHON = "3.11";

/** SHA-256 of the wheels of the default release. A wheel of one of these names must match, from an index or a file. */
export const PINNED_WHEELS: Readonly<Record<string, string>> = {
  "tensorflow_cpu-2.21.0-cp311-cp311-manylinux_2_27_x86_64.whl":
    "2b847d217b02ee7731ed91431daf3250daa0196c3c94614d23be27232e6e5b6c",
  "tensorflow-2.21.0-cp311-cp311-manylinux_2_27_x86_64.whl":
    "9056fbc9ba04235810b71ae6cbd958a196e8804fb53bbcffbf3e23b56155f124",
};

/** The project on the Python package index. */
export function projectFor(device: "cpu" | "cuda"): string {
  return device === "cuda" ? "tensorflow" : "tensorflow-cpu";
}

/** Platform tags of the wheels from 2.12 on. */
export const PLATFORMS: readonly string[] = [
  "manylinux_2_28_x86_64",
  "manylinux_2_27_x86_64",
  "manylinux_2_17_x86_64",
];

export const SPACE_NEED: SpaceNeed = {
  command: "mp-libtensorflow",
  space: "1.2 GB is needed, 1.9 GB for CUDA",
};
