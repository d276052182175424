/** A device that a step is tried on. */
export type StepDevice = "cpu" | "cuda" | "webgpu";

export type EngineName = "ort" | "tfjs" | "openvino" | "xla";

export interface Engine {
  readonly title: string;
  /** The package with the backend. */
  readonly backend: string;
  /** Packages with the native library, in order of preference. One of the packages is needed. */
  readonly libraries: readonly string[];
  /** The library package that supports CUDA, if any. */
  readonly cudaLibrary: string | undefined;
  /** Devices that a step is always tried on, whether the machine has them or not. */
  readonly devices: readonly StepDevice[];
  /**
   * Devices whose failure is no problem, as the machine may lack them, or a separate command installs their library.
   */
  readonly optional: readonly StepDevice[];
  /** The shell command that installs the engine on a platform. */
  readonly install: (platform: NodeJS.Platform) => string;
}

const ORT_PACKAGES = "npm install @mp/core @mp/backend-ort onnxruntime-node";
const TFJS_NODE = "@tensorflow/tfjs-node";

export const ENGINES: Readonly<Record<EngineName, Engine>> = {
  ort: {
    title: "ONNX Runtime",
    backend: "@mp/backend-ort",
    libraries: ["onnxruntime-node"],
    cudaLibrary: "onnxruntime-node",
    devices: ["cpu", "webgpu"],
    optional: ["webgpu"],
    install: (platform) =>
      platform === "win32"
        ? `$env:ONNXRUNTIME_NODE_INSTALL="skip"; ${ORT_PACKAGES}`
        : `ONNXRUNTIME_NODE_INSTALL=skip ${ORT_PACKAGES}`,
  },
  tfjs: {
    title: "TensorFlow",
    backend: "@mp/backend-tfjs",
    libraries: [TFJS_NODE, `${TFJS_NODE}-gpu`],
    cudaLibrary: `${TFJS_NODE}-gpu`,
    devices: ["cpu"],
    optional: [],
    install: (platform) =>
      platform === "linux"
        ? `npm install --ignore-scripts @mp/core @mp/backend-tfjs ${TFJS_NODE} && npx --no mp-libtensorflow`
        : `npm install @mp/core @mp/backend-tfjs ${TFJS_NODE}`,
  },
  openvino: {
    title: "OpenVINO",
    backend: "@mp/backend-openvino",
    libraries: ["@mp/libopenvino"],
    cudaLibrary: undefined,
    devices: ["cpu"],
    optional: ["cpu"],
    install: () => "npm install @mp/core @mp/backend-openvino && npx --no mp-libopenvino",
  },
  xla: {
    title: "XLA",
    backend: "@mp/backend-xla",
    libraries: ["@mp/libxla"],
    // mp-libxla installs CUDA's libraries too.
    cudaLibrary: undefined,
    devices: ["cuda"],
    optional: ["cuda"],
    install: () => "npm install @mp/core @mp/backend-xla && npx --no mp-libxla install cuda13",
  },
};

export const ENGINE_NAMES: readonly EngineName[] = ["ort", "tfjs", "openvino", "xla"];
