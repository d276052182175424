// The bytes that a training step's products move. Each operand and result of a kernel counts once.

/** Products of one size in a training step: [rows, inner] by [inner, columns], `count` times. */
interface ProductSizes {
  readonly rows: number;
  readonly inner: number;
  readonly columns: number;
  readonly count: number;
  /** Whether blocks of the inner dimension are not contiguous in the left operand, and must be copied first. */
  readonly isStrided: boolean;
}

/** The product of a layer and the two products of its gradients. */
function withGradients(rows: number, inner: number, columns: number, count = 1): readonly ProductSizes[] {
  return [
    { rows, inner, columns, count, isStrided: true },
    { rows, inner: columns, columns: inner, count, isStrided: true },
    { rows: inner, inner: rows, columns, count, isStrided: false },
  ];
}

/** The word model of 2 LSTM layers of 512 at sequence 35, batch 32 and 10 000 words. */
function wordModel(): readonly ProductSizes[] {
  const [steps, batch, cells, words] = [35, 32, 512, 10_000];
  const recurrent: readonly ProductSizes[] = [
    { rows: batch, inner: cells, columns: 4 * cells, count: 2 * steps, isStrided: true },
    { rows: batch, inner: 4 * cells, columns: cells, count: 2 * steps, isStrided: true },
    { rows: cells, inner: steps * batch, columns: 4 * cells, count: 2, isStrided: false },
  ];
  return [
    ...withGradients(steps * batch, cells, 4 * cells, 2),
    ...recurrent,
    ...withGradients(steps * batch, cells, words),
  ];
}

/** ResNet-50's convolutions at batch 64 and 224×224 pixels, as products of unfolded images; unfolding does not count. */
function residualNet(): readonly ProductSizes[] {
  const batch = 64;
  const convolution = (side: number, taps: number, inputs: number, outputs: number, count = 1) =>
    withGradients(batch * side ** 2, taps ** 2 * inputs, outputs, count);
  const stages = [3, 4, 6, 3].flatMap((blocks, stage) => {
    const own = 64 * 2 ** stage;
    const side = 56 / 2 ** stage;
    const given = stage === 0 ? 64 : 2 * own;
    return [
      ...convolution(stage === 0 ? side : 2 * side, 1, given, own),
      ...convolution(side, 1, 4 * own, own, blocks - 1),
      ...convolution(side, 3, own, own, blocks),
      ...convolution(side, 1, own, 4 * own, blocks),
      ...convolution(side, 1, given, 4 * own),
    ];
  });
  return [...convolution(112, 7, 3, 64), ...stages];
}

const STEPS: Readonly<Record<string, readonly ProductSizes[]>> = {
  "W2, word model": wordModel(),
  "W5, ResNet-50": residualNet(),
};

type Bytes = (sizes: ProductSizes) => number;

const plain =
  (bytes: number): Bytes =>
  ({ rows, inner, columns }) =>
    bytes * (rows * inner + inner * columns + rows * columns);

/** Bytes if the operands and the result are cast, which reads and writes each of them once more. */
const withCasts: Bytes = (sizes) => plain(4)(sizes) + plain(2 + 4)(sizes);

const blockCount = (block: number, { inner }: ProductSizes): number => Math.ceil(inner / block);

/** Bytes of partial products in float16, and of one sum over them that accumulates in float32. */
const inBlocks =
  (block: number): Bytes =>
  (sizes) => {
    const { rows, inner, columns, isStrided } = sizes;
    if (inner <= block) return plain(2)(sizes);
    const gathered = isStrided ? 2 * 2 * rows * inner : 0;
    return gathered + plain(2)(sizes) + 2 * 2 * blockCount(block, sizes) * rows * columns;
  };

const total = (step: readonly ProductSizes[], of: Bytes): number =>
  step.reduce((sum, sizes) => sum + sizes.count * of(sizes), 0);

const gigabytes = (bytes: number): string => (bytes / 1e9).toPrecision(3);

/** Rows of a table: step, 10⁹ operations, gigabytes by method, and gigabytes of the largest partial products. */
export function trafficRows(blocks: readonly number[]): readonly (readonly string[])[] {
  return Object.entries(STEPS).map(([name, step]) => [
    name,
    (total(step, ({ rows, inner, columns }) => 2 * rows * inner * columns) / 1e9).toFixed(0),
    ...[plain(4), withCasts, plain(2), ...blocks.map(inBlocks)].map((of) => gigabytes(total(step, of))),
    ...blocks.map((block) =>
      gigabytes(Math.max(...step.map((sizes) => 2 * blockCount(block, sizes) * sizes.rows * sizes.columns))),
    ),
  ]);
}
