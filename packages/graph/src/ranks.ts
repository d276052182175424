/**
 * The interface between core and an engine for collective operations, such as MPI. Core decides what is exchanged and
 * when; the engine only moves and adds data.
 */

/**
 * The processes of a data-parallel run. Every method is a collective: all ranks call the same methods in the same
 * order, one at a time, and each call resolves when this rank's part is done.
 */
export interface Ranks {
  /** This process, from 0. */
  readonly rank: number;
  /** Number of processes. */
  readonly size: number;
  /**
   * Replaces the values by their sums over all ranks. All ranks pass arrays of one length and get the same bits. An
   * infinity or NaN of any rank stays infinite or NaN. The caller keeps the memory unchanged until the call resolves.
   */
  allReduce(values: Float32Array): Promise<void>;
  /** Resolves to the bytes that every rank passed, in the order of ranks; lengths may differ. */
  allGather(bytes: Uint8Array): Promise<readonly Uint8Array[]>;
  /** Resolves on all ranks to rank 0's bytes. Other ranks pass none. */
  broadcast(bytes?: Uint8Array): Promise<Uint8Array>;
  /** Resolves when all ranks have called `barrier`. */
  barrier(): Promise<void>;
  /** Ends the processes of all ranks, with the error's message and a non-zero exit code. Not a collective. */
  abort(error: unknown): never;
}
