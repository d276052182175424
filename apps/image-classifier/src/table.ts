/** The talk's table: networks by precisions, each over several seeds, and how much the precisions differ. */
import type { PrecisionName, RunResult } from "@mp/cli";
import {
  differences,
  type Kind,
  metricOf,
  moments,
  precisionKinds,
  signedSpread,
  spread,
  textTable,
} from "@mp/cli/training";
import type { Options } from "./flags.js";
import type { ModelName } from "./models/index.js";

const NETS: readonly ModelName[] = ["resnet20", "vgg", "alexnet"];
const MIXED = ["mixed_float16", "mixed_bfloat16"] as const satisfies readonly PrecisionName[];

/** A network in one precision. */
export type TableKind = Kind<Options> & { readonly net: ModelName; readonly precision: PrecisionName };

/** The data of a table entry: accuracies by seed, in the same order for all. */
export type TableEntry = Pick<TableKind, "net" | "precision"> & {
  readonly runs: readonly { readonly result: Pick<RunResult, "metric"> }[];
};

/** Each network in float32, mixed float16 and mixed bfloat16. */
export function tableKinds(options: Options): readonly TableKind[] {
  return NETS.flatMap((net) => {
    const kinds = precisionKinds({ ...options, model: net });
    return kinds.map((kind) => ({
      ...kind,
      name: `${net} ${kind.name}`,
      net,
      precision: kind.options.precision,
    }));
  });
}

export const percent = (share: number): string => (100 * share).toFixed(2);

/**
 * One line for each network that finished in all precisions: accuracies, and the differences at the same seed, in
 * percent; below, whether the differences exceed those between seeds.
 */
export function formatTable(entries: readonly TableEntry[]): string {
  const apart: string[] = [];
  const lines = NETS.flatMap((net) => {
    const accuracies = (precision: PrecisionName): readonly number[] | undefined => {
      const entry = entries.find((one) => one.net === net && one.precision === precision);
      return entry === undefined ? undefined : metricOf(entry);
    };
    const float32 = accuracies("float32");
    const mixed = MIXED.map((precision) => ({ precision, values: accuracies(precision) }));
    if (float32 === undefined) return [];
    const cells = mixed.flatMap(({ precision, values }) => {
      if (values === undefined) return [];
      const difference = differences(values, float32);
      const { mean, deviation } = moments(difference);
      if (Math.abs(mean) > 2 * deviation) apart.push(`${net} in ${precision}`);
      return [spread(values, percent), signedSpread(difference, percent)];
    });
    return cells.length === 2 * MIXED.length ? [[net, spread(float32, percent), ...cells]] : [];
  });
  const header = ["net", "float32", ...MIXED.flatMap((precision) => [precision, "difference"])];
  const verdict =
    apart.length === 0
      ? "Every difference is within two of its standard deviations."
      : `More than two standard deviations apart: ${apart.join(", ")}.`;
  return `${textTable(header, lines)}\n${verdict}`;
}

/** The `--json` data of an entry. */
export const tableEntry = (entry: TableEntry): Readonly<Record<string, unknown>> => ({
  net: entry.net,
  precision: entry.precision,
  accuracy: metricOf(entry),
});
