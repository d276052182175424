import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { testPackages } from "./package-tests.mjs";
import { root } from "./packages.mjs";
import { countMissing, PartsMissing } from "./parts.mjs";
import { turbo } from "./turbo.mjs";

/** Exit code of mp-mpi when no package index answers. */
const EXIT_UNREACHABLE = 3;

/**
 * Packages' tests with processes that MPI connects. MPICH is installed into the user's cache the first time.
 * @returns {{ passed: number; failed: number }} nothing passed and nothing failed where it cannot be fetched, which counts
 *   as failed where MP_REQUIRE names mpi
 */
export function testMpi() {
  if (!turbo(["build:js"], { filter: ["@mp/mpi"], quiet: true })) return { passed: 0, failed: 1 };
  const { status } = spawnSync(process.execPath, [join(root, "packages/mpi/bin/mp-mpi.js"), "install"], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
  });
  const isForThis = process.platform === "linux" && process.arch === "x64";
  if (status === 0) return testPackages("test:mpi");
  if (isForThis && status !== EXIT_UNREACHABLE) return { passed: 0, failed: 1 };
  return countMissing(
    "mpi",
    "Nothing was tested on MPI",
    new PartsMissing("MPICH was not installed, see above"),
    "Linux on x64, pip and a package index",
  );
}
