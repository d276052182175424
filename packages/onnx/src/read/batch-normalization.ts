import type { OpOf, Value } from "@mp/graph";
import { add, cast, mul, normalizeByStatistics } from "@mp/graph/ops";
import type { NodeReader, ReaderTable, ReadNode } from "./node/node-reader.js";

/** The next running statistic: running · momentum + batch statistic · (1 - momentum). */
function runningStatistic(reader: NodeReader, index: number, statistic: Value, momentum: number): Value {
  if (momentum !== 0)
    return reader.compose([reader.operand(index), statistic], (given, batch) =>
      cast(add(mul(cast(given, "f32"), momentum), mul(batch, 1 - momentum)), given.dtype),
    )[0];
  reader.type(index);
  return statistic;
}

const batchNormalization: ReadNode = (reader) => {
  const epsilon = reader.float("epsilon", 1e-5);
  if (reader.int("spatial", 1) !== 1) return reader.unsupported("has statistics for each element");
  const momentum = reader.float("momentum", 0.9);
  if (reader.int("training_mode", 0) !== 1) {
    if (reader.node.outputs.length > 1) return reader.unsupported("trains as it did before version 14");
    return reader.compose(reader.operands(5), (x, scale, bias, mean, variance) =>
      normalizeByStatistics(x, scale, bias, { mean, variance }, { epsilon }),
    );
  }
  const [y, ...statistics] = reader.emit("BatchNormalization", reader.operands(3), { epsilon });
  return [
    y as Value,
    ...statistics.map((each, index) => runningStatistic(reader, index + 3, each, momentum)),
  ];
};

export const batchNormalizationReaders: ReaderTable<OpOf<"batch-normalization">> = {
  BatchNormalization: batchNormalization,
  BatchNormalizationGradient: (reader) =>
    reader.emit("BatchNormalizationGradient", reader.operands(5), {
      epsilon: reader.float("epsilon", 1e-5),
    }),
};
