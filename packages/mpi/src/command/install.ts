/** Installs MPICH from the Python package index into the cache. */
import { installPinned, type PinnedOptions, type Report } from "@mp/wheels";
import { installFolder, LIBRARY_FILE } from "../locate.js";
import { VERSION, WHEEL_SHA256 } from "../release.js";

const ROOT = `mpich-${VERSION}.data/data/`;

/** Installs MPICH, which needs 52 MB. @throws MP_BACKEND_UNAVAILABLE, MP_INVALID_ARGUMENT, MP_PARSE, MP_IO */
export const install = (options: PinnedOptions, report: Report): Promise<void> =>
  installPinned(
    {
      title: `MPICH ${VERSION}`,
      command: "mp-mpi",
      space: "52 MB is needed",
      elsewhere: "build an MPI with the standard ABI (MPICH 5) and name its library in MP_MPI_LIBRARY",
      folder: installFolder(options.environment),
      library: `lib/${LIBRARY_FILE}`,
      wheels: [
        {
          project: "mpich",
          version: VERSION,
          sha256: WHEEL_SHA256,
          placeOf: (name) =>
            name.startsWith(`${ROOT}bin/`) || name.startsWith(`${ROOT}lib/`)
              ? name.slice(ROOT.length)
              : undefined,
        },
      ],
    },
    options,
    report,
  );
