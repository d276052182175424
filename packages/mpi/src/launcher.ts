import { MpError } from "@mp/core";
import { MPI_COMMAND } from "./locate.js";

/** How many processes a launcher says it has started: PMI of MPICH and SLURM, Open MPI, SLURM's own. */
const SIZES = ["PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"] as const;

/**
 * A library that does not speak the launcher's protocol takes every process for a job of its own.
 * @throws MP_BACKEND_UNAVAILABLE when the launcher started more processes than the library knows of
 */
export function checkLauncher(
  size: number,
  library: string,
  environment: Readonly<Record<string, string | undefined>>,
): void {
  if (size > 1) return;
  const variable = SIZES.find((name) => Number(environment[name] ?? 1) > 1);
  if (variable === undefined) return;
  throw new MpError(
    "MP_BACKEND_UNAVAILABLE",
    `MPI: the launcher started ${environment[variable]} processes (${variable}), but each is alone for ${library}: they are of different MPIs; start with: ${MPI_COMMAND} run, or set MP_MPI_LIBRARY to the library of your mpiexec`,
    { details: { variable, started: environment[variable], library } },
  );
}
