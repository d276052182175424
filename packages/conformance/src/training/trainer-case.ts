import type { TrainerOptions } from "@mp/core";
import type { ConformanceCase } from "../conformance-case.js";
import { fresh } from "../fresh.js";
import { scenarioCase, type TranscriptCheck } from "./scenario.js";
import { type Session, withTrainer } from "./session.js";

/** A case with one trainer, on the backend under test and on the oracle. */
export const trainerCase = <P, B, M, R>(
  id: string,
  options: Omit<TrainerOptions<P, B, M>, "backend">,
  play: (session: Session<P, B, M>) => Promise<R>,
  check: TranscriptCheck<R>,
): ConformanceCase => scenarioCase<R>(id, (backend) => withTrainer(backend, fresh(options), play), check);
