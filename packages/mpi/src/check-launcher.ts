import { MpError } from "@mp/graph";
import { MPI_COMMAND } from "./locate.js";

/** Variables with the number of started processes, set by MPICH and SLURM (PMI), Open MPI, and SLURM. */
const SIZES = ["PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"] as const;

/**
 * Checks that the library understands the launcher's protocol; otherwise each process is rank 0 of 1.
 * @throws MP_BACKEND_UNAVAILABLE if the launcher started several processes and the library sees one
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
