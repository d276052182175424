import { MpError } from "@mp/graph";
import { LIBRARY_COMMAND, RELEASE } from "@mp/libopenvino";

/**
 * Checks the library's version. Only the pinned release was compared with the reference, so another version must be
 * requested explicitly.
 * @throws MP_BACKEND_UNAVAILABLE naming both versions and the remedy
 */
export function expectVersion(path: string, version: string, wanted: string): void {
  if (version === wanted) return;
  const remedy =
    wanted === RELEASE
      ? `install that with: ${LIBRARY_COMMAND}, or ask for the other: openvino({ version: "${version}" })`
      : `ask for version "${version}", or name the library of OpenVINO ${wanted} in library or MP_OPENVINO`;
  throw new MpError(
    "MP_BACKEND_UNAVAILABLE",
    `OpenVINO: version must be ${wanted}, and ${path} is ${version}; ${remedy}`,
    { details: { file: path, version, wanted, install: LIBRARY_COMMAND } },
  );
}
