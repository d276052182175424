/**
 * The interface between core and an engine of collectives, such as MPI. Core decides what is exchanged and when; the
 * engine only moves and adds.
 */

/**
 * The processes of a data-parallel run. Every method is a collective: all ranks call the same ones in the same order,
 * one at a time, and each resolves when this rank's part is done.
 */
export interface Ranks {
  /** This process, from 0. */
  readonly rank: number;
  /** Number of processes. */
  readonly size: number;
  /**
   * Replaces the values by their sums over all ranks: f32, of the same length everywhere, the same bits on every rank.
   * An infinity or NaN of any rank comes through as one. The caller keeps the memory unchanged until it resolves.
   */
  allReduce(values: Float32Array): Promise<void>;
  /** The bytes that every rank passed, in the order of ranks; lengths may differ. */
  allGather(bytes: Uint8Array): Promise<readonly Uint8Array[]>;
  /** Resolves on all ranks to rank 0's bytes. Other ranks pass none. */
  broadcast(bytes?: Uint8Array): Promise<Uint8Array>;
  /** Resolves when all ranks have called it. */
  barrier(): Promise<void>;
  /** Ends the processes of all ranks, with the error's message and a non-zero exit code. Not a collective. */
  abort(error: unknown): never;
}
