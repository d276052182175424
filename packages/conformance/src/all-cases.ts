import { accumulationCases } from "./cases/accumulation.js";
import { castCases } from "./cases/cast.js";
import { finiteCheckCases } from "./cases/finite-check.js";
import { nanCases } from "./cases/nan.js";
import { opCases } from "./cases/op-cases.js";
import type { ConformanceCase } from "./conformance-case.js";

/** The whole suite. Its size and its ids are part of this package's version. */
export const allCases: readonly ConformanceCase[] = [
  ...castCases,
  ...opCases,
  ...nanCases,
  ...finiteCheckCases,
  ...accumulationCases,
];

const ID = /^[a-z-]+\/[A-Za-z0-9-]+\/[a-z0-9-]+$/;

/** @throws for an id that is taken or not of the form `group/feature/behaviour` */
export function checkIds(cases: readonly ConformanceCase[]): void {
  const seen = new Set<string>();
  for (const { id } of cases) {
    if (!ID.test(id)) throw new Error(`conformance: "${id}" is not group/feature/behaviour`);
    if (seen.has(id)) throw new Error(`conformance: two cases are named ${id}`);
    seen.add(id);
  }
}
