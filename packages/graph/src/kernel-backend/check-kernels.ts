import { DTYPES } from "../dtype.js";
import { invalid } from "../errors.js";
import { inferRules } from "../graph/infer/infer.js";
import { meantInstead } from "../missing-name.js";
import { shown } from "../shown.js";

interface Claims {
  readonly name: string;
  readonly kernels: object;
  readonly manifest: { readonly dtypes: object; readonly opDTypes?: object };
}

/**
 * Finds rows for unknown operators or dtypes in a backend's tables; in JavaScript no compiler rejects them.
 * @throws MP_INVALID_ARGUMENT naming the backend, the table, its row and the allowed values
 */
export function checkKernels({ name, kernels, manifest: { dtypes, opDTypes = {} } }: Claims): void {
  const refuse = (problem: string): never => {
    throw invalid(`${name}: ${problem}`);
  };
  const expectNames = (table: string, rows: object, kind: string, known: readonly string[]): void => {
    if (typeof rows !== "object" || rows === null)
      refuse(`${table} must be a table by name, got ${shown(rows)}`);
    for (const row of Object.keys(rows)) {
      if (known.includes(row)) continue;
      const remedy = meantInstead(row, known) ?? "names are those of OpAttributes and DTYPES in @mp/core";
      refuse(`${table} has a row for ${shown(row)}, which is no ${kind}; ${remedy}`);
    }
  };
  const ops = Object.keys(inferRules);
  expectNames("kernels", kernels, "operator", ops);
  expectNames("manifest.dtypes", dtypes, "dtype", DTYPES);
  expectNames("manifest.opDTypes", opDTypes, "operator", ops);
  for (const [op, kernel] of Object.entries(kernels)) {
    if (kernel !== undefined && typeof kernel !== "function")
      refuse(`the kernel of ${op} must be a function, got ${shown(kernel)}`);
  }
  for (const [op, taken] of Object.entries(opDTypes)) {
    if (Array.isArray(taken) && taken.every((dtype) => (DTYPES as readonly unknown[]).includes(dtype)))
      continue;
    refuse(`manifest.opDTypes of ${op} must be some of ${DTYPES.join(", ")}, got ${shown(taken)}`);
  }
}
