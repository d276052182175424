import { type HostTensor, isHostTensor, type MpError } from "@mp/core";
import { formatShape } from "@mp/core/graph";
import { shapeMismatch, shown } from "@mp/graph/internal";
import { stack, takeBatch, takeRows } from "./array-dataset.js";
import { type BatchingOptions, batchingChecks } from "./batching.js";
import { claim, oneOf, optional, optionsCheck } from "./check-arguments.js";
import { type Dataset, indexedDataset } from "./dataset.js";
import { datasetSignature } from "./dataset-signature.js";
import { invalid } from "./errors.js";
import { permutation, randomStream } from "./random.js";

/** A list with a sequence [length, …] per example, all of one dtype; or a tensor [examples, …], a row per example. */
export type BucketColumn = HostTensor | readonly HostTensor[];

export interface BucketByOptions extends Pick<BatchingOptions, "batch" | "epochs"> {
  /** Lengths of the batches, ascending. A sequence is padded to the length of the first bucket into which it fits. */
  readonly buckets: readonly number[];
  /** Value that pads sequences, for all or by name; default 0. For labels, use the `ignoreIndex` of the loss. */
  readonly padding?: number | Readonly<Record<string, number>>;
  /** Shuffles the examples within each bucket, and all batches, differently in each epoch. Default: shortest first. */
  readonly shuffle?: { readonly seed: number };
  /**
   * What to do with the last, smaller batch of each bucket: `drop` (default), `keep`, or `pad` by repeating its last
   * example. With `pad` every batch has `weights`, f32 [batch], as in `arrayDataset`.
   */
  readonly partial?: "drop" | "keep" | "pad";
  /** What to do with examples longer than the last bucket: `refuse` (default) throws, `drop` leaves them out. */
  readonly tooLong?: "refuse" | "drop";
}

/** A batch: [batch, length of the bucket, …] for each list of sequences, and rows of each tensor. */
export type BucketBatch<T, O> = {
  readonly [K in keyof T]: T[K] extends readonly (infer H extends HostTensor)[]
    ? HostTensor<H["dtype"]>
    : T[K] extends HostTensor
      ? HostTensor<T[K]["dtype"]>
      : never;
} & (O extends { readonly partial: "pad" } ? { readonly weights: HostTensor<"f32"> } : unknown);

const isLength = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0;
const checkOptions = optionsCheck<BucketByOptions>(
  {
    ...batchingChecks,
    buckets: claim(
      "ascending lengths, such as [16, 32, 64]",
      (value) =>
        Array.isArray(value) &&
        value.length > 0 &&
        value.every((length, at) => isLength(length) && (at === 0 || length > value[at - 1])),
    ),
    padding: optional(
      claim(
        "a finite number, or numbers by name",
        (value) =>
          Number.isFinite(value) ||
          (typeof value === "object" && value !== null && Object.values(value).every(Number.isFinite)),
      ),
    ),
    partial: optional(oneOf("drop", "keep", "pad")),
    tooLong: optional(oneOf("refuse", "drop")),
  },
  "{ buckets: [16, 32, 64], batch: 8 }",
);

/**
 * Makes batches of sequences of similar lengths, each padded to the length of its bucket. Each bucket has one shape,
 * for which a step is compiled once. The length of an example is that of its longest sequence. `bucketBy({ tokens,
 * labels }, { buckets: [16, 32], batch: 8, padding: { labels: -1 } })`. The trainer's option `programs` sets how many
 * compiled shapes the trainer keeps.
 * @throws MP_INVALID_ARGUMENT for invalid options, an example that fits into no bucket, and buckets without a batch
 * @throws MP_SHAPE_MISMATCH for different numbers of examples, or sequences that differ in more than their length
 */
export function bucketBy<
  const T extends Readonly<Record<string, BucketColumn>>,
  const O extends BucketByOptions,
>(examples: T, options: O): Dataset<BucketBatch<T, O>> {
  checkOptions("bucketBy", options);
  const { buckets, batch: size, shuffle, epochs = 1, partial = "drop", padding = 0 } = options;
  const signed = { batch: size, seed: shuffle?.seed, partial };
  const columns = readColumns(examples, partial);
  const count = columns[0]?.count ?? 0;
  const members = fillBuckets(columns, count, options);
  const batchesIn = (all: number): number => (partial === "drop" ? Math.floor : Math.ceil)(all / size);
  const batchesPerEpoch = members.reduce((sum, { length }) => sum + batchesIn(length), 0);
  if (batchesPerEpoch < 1) throw refusal(`no bucket has the ${size} examples of a batch; use a smaller one`);
  // The batches of one epoch, drawn again when a position is in another epoch.
  let drawn: { readonly epoch: number; readonly plan: readonly PlannedBatch[] } | undefined;
  const epochPlan = (epoch: number): readonly PlannedBatch[] => {
    if (drawn?.epoch !== epoch) {
      const stream = shuffle && randomStream(shuffle.seed, epoch);
      const order = (length: number): ArrayLike<number> =>
        stream === undefined ? Array.from({ length }, (_, at) => at) : permutation(length, stream);
      const plan = members.flatMap((own, bucket) => {
        const rows = Array.from(order(own.length), (at) => own[at] as number);
        return Array.from({ length: batchesIn(own.length) }, (_, at) => ({
          length: buckets[bucket] as number,
          rows: rows.slice(at * size, (at + 1) * size),
        }));
      });
      drawn = { epoch, plan: Array.from(order(plan.length), (at) => plan[at] as PlannedBatch) };
    }
    return drawn.plan;
  };
  return indexedDataset({
    signature: datasetSignature("buckets", { examples, ...signed, buckets, padding }),
    batchesPerEpoch,
    dropped: count - (partial === "drop" ? size * batchesPerEpoch : members.flat().length),
    epochs,
    batch: ({ epoch, index }) => {
      const { rows: own, length } = epochPlan(epoch)[index] as PlannedBatch;
      return takeBatch(own, partial === "pad" ? size : undefined, (rows) =>
        columns.map(({ name, rowsOf }) => [name, rowsOf(rows, length, paddingValue(padding, name))]),
      ) as BucketBatch<T, O>;
    },
  });
}

interface PlannedBatch {
  readonly rows: readonly number[];
  readonly length: number;
}

interface Column {
  readonly name: string;
  readonly count: number;
  /** Gives the length of an example's sequence; undefined for a tensor of rows. */
  readonly lengthOf: ((example: number) => number) | undefined;
  readonly rowsOf: (rows: readonly number[], length: number, padding: number) => HostTensor;
}

const paddingValue = (padding: number | Readonly<Record<string, number>>, name: string): number =>
  typeof padding === "number" ? padding : Object.hasOwn(padding, name) ? (padding[name] ?? 0) : 0;

function readColumns(examples: Readonly<Record<string, BucketColumn>>, partial: string): readonly Column[] {
  const columns = Object.entries(examples ?? {}).map(([name, column]) => readColumn(name, column));
  const [first] = columns;
  if (!columns.some(({ lengthOf }) => lengthOf !== undefined)) {
    throw refusal("takes at least one list of sequences by name, such as { tokens: [tensor(…), …] }");
  }
  if (partial === "pad" && Object.hasOwn(examples, "weights")) {
    throw refusal('with partial: "pad" the batches get weights, and there are some already; rename them');
  }
  const other = columns.find(({ count }) => count !== first?.count);
  if (first === undefined || other === undefined) return columns;
  throw shapeMismatch(
    `bucketBy: ${first.name} has ${first.count} examples and ${other.name} has ${other.count}`,
  );
}

function readColumn(name: string, column: BucketColumn): Column {
  if (isHostTensor(column)) {
    const rowsOf = (rows: readonly number[]): HostTensor => takeRows(column, rows);
    return { name, count: column.shape[0] ?? 0, lengthOf: undefined, rowsOf };
  }
  const [first] = Array.isArray(column) ? (column as readonly HostTensor[]) : [];
  if (first === undefined)
    throw refusal(`${name} must be a tensor or a list of tensors, got ${shown(column)}`);
  for (const [at, sequence] of column.entries()) checkSequence(`${name}[${at}]`, sequence, first);
  return {
    name,
    count: column.length,
    lengthOf: (example) => column[example]?.shape[0] ?? 0,
    rowsOf: (rows, length, padding) => {
      const { dtype, shape } = first;
      if (padding !== 0 && (dtype === "f16" || dtype === "bf16"))
        throw refusal(`${name} is ${dtype}, which is padded with 0, got ${padding}`);
      const sequences = rows.map((row) => (column[row] as HostTensor).data);
      return stack(dtype, [length, ...shape.slice(1)], sequences, padding);
    },
  };
}

function checkSequence(place: string, sequence: unknown, first: HostTensor): void {
  if (!isHostTensor(sequence)) throw refusal(`${place} must be a tensor of the host, got ${shown(sequence)}`);
  const { dtype, shape } = sequence;
  const fits = dtype === first.dtype && shape.slice(1).join() === first.shape.slice(1).join();
  if (shape.length > 0 && shape.length === first.shape.length && fits) return;
  throw shapeMismatch(
    `bucketBy: ${place} is ${dtype} ${formatShape(shape)}, and the first sequence ${first.dtype} ${formatShape(first.shape)}; they differ in their first dimension alone`,
  );
}

/** Assigns the examples to buckets. */
function fillBuckets(
  columns: readonly Column[],
  count: number,
  { buckets, tooLong = "refuse" }: BucketByOptions,
): readonly (readonly number[])[] {
  const members: number[][] = buckets.map(() => []);
  for (let example = 0; example < count; example++) {
    const length = Math.max(...columns.map(({ lengthOf }) => lengthOf?.(example) ?? 0));
    const bucket = buckets.findIndex((most) => length <= most);
    if (bucket >= 0) members[bucket]?.push(example);
    else if (tooLong === "refuse")
      throw refusal(
        `example ${example} has length ${length}, and the last bucket ${buckets.at(-1)}; add a bucket, or pass tooLong: "drop"`,
      );
  }
  return members;
}

const refusal = (message: string): MpError => invalid(`bucketBy: ${message}`);
