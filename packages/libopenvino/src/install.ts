/** Installs OpenVINO from the Python package index into the cache. */
import { basename } from "node:path";
import { installPinned, type PinnedOptions, type Report } from "@mp/wheels";
import { libraryFolder } from "./locate.js";
import { FILES, LIBRARY_FILE, RELEASE, WHEEL_SHA256 } from "./release.js";

const ROOT = "openvino/libs/";

/** @throws MP_BACKEND_UNAVAILABLE, MP_INVALID_ARGUMENT, MP_PARSE, MP_IO */
export const install = (options: PinnedOptions, report: Report): Promise<void> =>
  installPinned(
    {
      title: `OpenVINO ${RELEASE}`,
      command: "mp-libopenvino",
      space: "160 MB is needed",
      elsewhere: "its other wheels have not been tried: name the libopenvino_c of one in MP_OPENVINO",
      folder: libraryFolder(options.environment),
      library: LIBRARY_FILE,
      wheels: [
        {
          project: "openvino",
          version: RELEASE,
          sha256: WHEEL_SHA256,
          placeOf: (name) =>
            name.startsWith(ROOT) && FILES.includes(name.slice(ROOT.length)) ? basename(name) : undefined,
        },
      ],
    },
    options,
    report,
  );
