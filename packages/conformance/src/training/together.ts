import type { TrainerOptions } from "@mp/core";
import { type Backend, MpError, type Ranks } from "@mp/graph";
import { inProcessRanks } from "../in-process-ranks.js";
import { type Session, withTrainer } from "./session.js";

/** The result of a rank, or its error. */
export type Outcome<R> = { readonly gave: R } | { readonly failed: unknown };

/**
 * Runs trainers of two ranks on one backend at the same time. Resolves when both have ended, with or without an
 * error, since a rank that continued would use a disposed backend.
 * @throws MP_UNSUPPORTED if the backend does not support what a rank computes
 */
export async function outcomesOfTwo<P, B, M, R>(
  backend: Backend,
  options: (rank: number) => Omit<TrainerOptions<P, B, M>, "backend" | "ranks">,
  body: (session: Session<P, B, M>, rank: number) => Promise<R>,
  pair: readonly Ranks[] = inProcessRanks(2),
): Promise<readonly Outcome<R>[]> {
  const settled = await Promise.allSettled(
    pair.map((ranks) =>
      withTrainer<P, B, M, R>(backend, { ...options(ranks.rank), ranks }, (session) =>
        body(session, ranks.rank),
      ),
    ),
  );
  for (const one of settled)
    if (one.status === "rejected" && MpError.is(one.reason, "MP_UNSUPPORTED")) throw one.reason;
  return settled.map((one) =>
    one.status === "fulfilled" ? { gave: one.value } : { failed: one.reason as unknown },
  );
}

/** `outcomesOfTwo` for ranks that do not fail. */
export async function together<P, B, M, R>(
  ...given: Parameters<typeof outcomesOfTwo<P, B, M, R>>
): Promise<readonly R[]> {
  const outcomes = await outcomesOfTwo<P, B, M, R>(...given);
  for (const outcome of outcomes) if ("failed" in outcome) throw outcome.failed;
  return outcomes.map((outcome) => (outcome as { readonly gave: R }).gave);
}
