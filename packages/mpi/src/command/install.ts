/** Puts MPICH of the Python package index into the cache: whole or not at all, by one rename. */
import { existsSync } from "node:fs";
import { chmod, mkdir, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { MpError } from "@mp/core";
import {
  fetchWithPip,
  fileFailure,
  findPip,
  megabytes,
  openWheel,
  partialPath,
  publishFolder,
  type Report,
  requireDigest,
  sha256Of,
  since,
  sweepPartials,
} from "@mp/wheels";
import { installedFolder, LIBRARY_FILE } from "../locate.js";
import { VERSION, WHEEL, WHEEL_SHA256 } from "../release.js";

export interface InstallOptions {
  /** A wheel of the user, instead of the index's. */
  readonly wheel?: string | undefined;
  /** Source of PATH, XDG_CACHE_HOME and the settings of pip. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

const NEED = { command: "mp-mpi", space: "52 MB is needed" };

/**
 * @throws MP_BACKEND_UNAVAILABLE where no wheel runs on this machine, or none can be fetched
 * @throws MP_INVALID_ARGUMENT, MP_PARSE or MP_IO for what is wrong with the wheel or the disk
 */
export async function install(options: InstallOptions, report: Report): Promise<void> {
  requirePlatform();
  const folder = installedFolder(options.environment);
  if (existsSync(join(folder, "lib", LIBRARY_FILE)))
    return report("cache", `MPICH ${VERSION} is in ${folder}`);
  const cache = dirname(folder);
  try {
    await mkdir(cache, { recursive: true });
    await sweepPartials(cache);
    const download = partialPath(cache);
    try {
      await mkdir(download);
      const wheel = await wheelFor(options, download, report);
      requireDigest(wheel, await sha256Of(wheel), WHEEL_SHA256, `pinned for MPICH ${VERSION}`);
      await unpack(wheel, folder, report);
    } finally {
      await rm(download, { recursive: true, force: true });
    }
  } catch (error) {
    throw fileFailure(error, NEED);
  }
}

function requirePlatform(): void {
  const platform = `${process.platform}/${process.arch}`;
  if (platform === "linux/x64") return;
  throw new MpError(
    "MP_BACKEND_UNAVAILABLE",
    `mp-mpi installs MPICH on linux/x64, this is ${platform}; build an MPI with the standard ABI (MPICH 5) and name its library in MP_MPI_LIBRARY`,
  );
}

async function wheelFor(options: InstallOptions, folder: string, report: Report): Promise<string> {
  const { wheel, environment } = options;
  if (wheel !== undefined) {
    if (existsSync(wheel)) return resolve(wheel);
    throw new MpError("MP_IO", `--wheel: ${resolve(wheel)} does not exist`, { details: { file: wheel } });
  }
  const python = await findPip(environment);
  if (python === undefined)
    throw new MpError(
      "MP_BACKEND_UNAVAILABLE",
      `pip is needed to fetch ${WHEEL}, and neither python3 nor python has it; apt-get install python3-pip, or fetch the wheel elsewhere and name it with --wheel`,
    );
  report("fetching", `MPICH ${VERSION} with pip`);
  const file = await fetchWithPip({
    ...{ python, folder, environment, project: "mpich", version: VERSION },
    // Any would do: the wheel holds no Python.
    cpython: "3.11",
    platforms: ["manylinux_2_28_x86_64"],
    otherwise: "fetch the wheel elsewhere and name it with --wheel",
    space: NEED.space,
  });
  return join(folder, file);
}

/** Links are texts of a few bytes in a wheel; nothing of ours goes through one. */
async function unpack(path: string, folder: string, report: Report): Promise<void> {
  const start = performance.now();
  const wheel = await openWheel(path, `the wheel of MPICH ${VERSION}`);
  const root = `mpich-${VERSION}.data/data/`;
  const names = wheel.names.filter(
    (name) => name.startsWith(`${root}bin/`) || name.startsWith(`${root}lib/`),
  );
  let bytes = 0;
  try {
    await publishFolder(folder, async (partial) => {
      for (const name of names) {
        const to = join(partial, name.slice(root.length));
        await wheel.extract(name, to);
        bytes += wheel.sizeOf(name);
        if (basename(dirname(to)) === "bin") await chmod(to, 0o755);
      }
    });
  } finally {
    wheel.close();
  }
  report("unpacked", `${megabytes(bytes)} into ${folder}, ${since(start)}`);
}
