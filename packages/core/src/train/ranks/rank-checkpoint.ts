import { bytesOfTensors, tensorsOfBytes } from "../../checkpoint/bytes.js";
import type { LoadedTensors } from "../../checkpoint/format-tensors.js";
import type { CheckpointSource, CheckpointTarget } from "../checkpoint/file/place.js";
import { withRankParts } from "../checkpoint/file/rank-parts.js";
import type { Agreement } from "./agreement.js";

/** One rank's contribution to a checkpoint. */
export interface RankCheckpoint {
  /** The whole checkpoint, as a single process would save it. Called on rank 0, or on all ranks if `isGathered`. */
  whole(): Promise<LoadedTensors>;
  /** Whether all ranks have parts of the checkpoint. */
  readonly isGathered: boolean;
  /** The part that may differ on other ranks: model state and the position in the data. */
  part(): Promise<LoadedTensors>;
}

/** Stores a checkpoint of all ranks on rank 0. The other ranks wait for rank 0, and fail if it fails. */
export async function storeFromRankZero<T>(
  agreement: Agreement,
  what: string,
  checkpoint: RankCheckpoint,
  target: CheckpointTarget<T>,
): Promise<T> {
  const { ranks } = agreement;
  const own = await agreement.all(what, async () => {
    target.check();
    return bytesOfTensors(await checkpoint.part());
  });
  const parts = await ranks.allGather(own);
  const gathered = checkpoint.isGathered ? await checkpoint.whole() : undefined;
  const written = await agreement.all(`${what} on rank 0`, async () =>
    ranks.rank === 0
      ? target.write(withRankParts(gathered ?? (await checkpoint.whole()), parts.map(tensorsOfBytes)))
      : undefined,
  );
  return target.broadcast(ranks, written);
}

/** Reads a checkpoint on rank 0 and gives it to all ranks, whose hosts may not see the file. */
export function broadcastSource(
  agreement: Agreement,
  what: string,
  source: CheckpointSource,
): CheckpointSource {
  const { ranks } = agreement;
  return {
    name: what,
    details: {},
    read: async () => {
      const read = await agreement.all(what, async () =>
        ranks.rank === 0 ? bytesOfTensors(await source.read()) : undefined,
      );
      return tensorsOfBytes(await ranks.broadcast(read));
    },
  };
}
