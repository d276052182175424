/** State of OpenVINO's library on this machine, as far as it is known. */
export type Library =
  | { readonly state: "other platform" | "missing" | "installed" | "native" }
  /** The reason is one line. */
  | { readonly state: "unreachable" | "unusable"; readonly reason: string };

/** The next thing to do for the demo: find out more of the library, or run with these flags. */
export type NextStep =
  | { readonly do: "fetch" | "open"; readonly line?: string }
  | { readonly do: "run"; readonly flags: readonly string[]; readonly line: string };

/** The download ends after this long, finished or not. */
export const FETCH_SECONDS = 45;

/**
 * Products take most of a step's time at this size. At the default size they do not, and halves gain little. Fewer
 * steps take as long.
 */
const LARGE = ["--cells", "512", "--batch", "64", "--steps", "100"];

/** Decides by what is known so far. @param hasUnits whether the processor multiplies bfloat16 */
export function nextStep(hasUnits: boolean, library: Library): NextStep {
  if (!hasUnits) return onOnnxRuntime("this processor has no units that multiply bfloat16");
  switch (library.state) {
    case "missing":
      return {
        do: "fetch",
        line: `This processor multiplies bfloat16: fetching OpenVINO's library for it, 59 MB, in at most ${FETCH_SECONDS} s`,
      };
    case "installed":
      return { do: "open" };
    case "native":
      return {
        do: "run",
        flags: ["--backend", "openvino", "--precision", "mixed_bfloat16", ...LARGE],
        line: "On OpenVINO, in float32 and mixed_bfloat16: this processor multiplies bfloat16",
      };
    case "other platform":
      return onOnnxRuntime("OpenVINO's library is fetched for Linux on x64 alone");
    case "unreachable":
    case "unusable":
      return onOnnxRuntime(library.reason);
  }
}

const onOnnxRuntime = (reason: string): NextStep => ({
  do: "run",
  flags: ["--precision", "mixed_float16"],
  line: `On ONNX Runtime, in float32 and emulated mixed_float16: ${reason}`,
});
