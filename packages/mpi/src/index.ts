export { type MpiOptions, mpi } from "./mpi.js";
export type { MpiRanks } from "./mpi-ranks.js";
