import type { Op } from "@mp/graph";
import { attentionTable } from "./attention-table.js";
import type { AxisOp } from "./axis-data.js";
import { batchNormalizationTable } from "./batch-normalization-table.js";
import { binaryTable } from "./binary-table.js";
import { convolutionTable } from "./convolution-table.js";
import { indexingTable } from "./indexing-table.js";
import { loopTable } from "./loop-table.js";
import { lossTable } from "./loss-table.js";
import { matrixTable } from "./matrix-table.js";
import { movementTable } from "./movement-table.js";
import { normalizationTable } from "./normalization-table.js";
import type { OpTable } from "./op-row.js";
import { poolingTable } from "./pooling-table.js";
import { reduceTable } from "./reduce-table.js";
import type { OptionOp } from "./setting.js";
import { sourceTable } from "./source-table.js";
import { unaryTable } from "./unary-table.js";

/** The samples of every op, from one table per family. */
export const opRows: OpTable<Op> = {
  ...unaryTable,
  ...binaryTable,
  ...matrixTable,
  ...attentionTable,
  ...convolutionTable,
  ...reduceTable,
  ...poolingTable,
  ...normalizationTable,
  ...batchNormalizationTable,
  ...lossTable,
  ...movementTable,
  ...indexingTable,
  ...loopTable,
  ...sourceTable,
};

interface Columns {
  readonly axes: AxisOp;
  readonly options: OptionOp;
}

/** The operators that have samples in a column. */
export const opsWith = <C extends keyof Columns>(column: C): readonly Columns[C][] =>
  (Object.keys(opRows) as Columns[C][]).filter((op) => column in opRows[op]);
