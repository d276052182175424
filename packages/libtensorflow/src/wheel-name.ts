import { MpError } from "@mp/graph";

/** The parts of a wheel's file name: `tensorflow_cpu-2.21.0-cp311-cp311-manylinux_2_27_x86_64.whl`. */
export interface WheelName {
  readonly file: string;
  /** Name of the wheel's package as in the file name, with `_` instead of `-`. */
  readonly name: string;
  readonly version: string;
  readonly python: string;
  /** Platform tags; one wheel may serve several platforms. */
  readonly platforms: readonly string[];
}

const LINUX_X64 = /^(?:linux|manylinux\w*)_x86_64$/;

/** @returns undefined if the name is not that of a wheel */
export function parseWheelName(file: string): WheelName | undefined {
  if (!file.endsWith(".whl")) return undefined;
  const parts = file.slice(0, -".whl".length).split("-");
  // A build number may come between the version and the three tags.
  if (parts.length !== 5 && parts.length !== 6) return undefined;
  const [name = "", version = ""] = parts;
  const [python = "", , platform = ""] = parts.slice(-3);
  return { file, name, version, python, platforms: platform.split(".") };
}

function isForLinuxX64({ platforms }: WheelName): boolean {
  return platforms.some((platform) => LINUX_X64.test(platform));
}

/** @throws MP_INVALID_ARGUMENT if the file is not a wheel, or is for another platform */
export function expectWheelName(file: string): WheelName {
  const wheel = parseWheelName(file);
  const wanted = "a wheel of tensorflow-cpu or tensorflow whose name ends in manylinux_…_x86_64.whl";
  if (wheel === undefined) {
    throw new MpError("MP_INVALID_ARGUMENT", `--wheel: ${wanted} is needed, got "${file}"`, {
      details: { file },
    });
  }
  if (!isForLinuxX64(wheel)) {
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `--wheel: "${file}" is for ${wheel.platforms.join(", ")}, this machine is Linux x64: ${wanted} is needed`,
      { details: { file, platforms: wheel.platforms } },
    );
  }
  return wheel;
}
