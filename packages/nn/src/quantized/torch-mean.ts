const LANES = 8;
/** Number of vectors in a row of PyTorch's sum. */
const VECTORS = 4;
const LEVELS = 4;

/**
 * The mean in f32, summed in the order of PyTorch on a CPU with one thread, so that the last bit is equal:
 * columns of vectors, with up to four levels of partial sums (`cascade_sum` in PyTorch's SumKernel.cpp).
 */
export function torchMean(values: Float32Array): number {
  const first = (place: number): number => (place === 0 || place >= VECTORS ? 0 : 1);
  // Less than one vector: the first four values are partial sums, and the rest are added to the first of them.
  if (values.length < LANES) {
    const order = [...values.keys()].sort((a, b) => first(a) - first(b) || a - b);
    return Math.fround(
      order.reduce((sum, at) => Math.fround(sum + (values[at] as number)), 0) / values.length,
    );
  }
  const columns = VECTORS * LANES;
  const vectors = Math.floor(values.length / LANES);
  const rows = Math.floor(vectors / VECTORS);
  const power = Math.max(4, Math.floor(Math.ceil(Math.log2(Math.max(rows, 1))) / LEVELS));
  const step = 2 ** power;
  const levels = Array.from({ length: LEVELS }, () => new Float32Array(columns));
  const [sums] = levels as [Float32Array];
  const addTo = (into: Float32Array, from: Float32Array, start: number, count: number): void => {
    for (let at = 0; at < count; at++) into[at] = (into[at] as number) + (from[start + at] as number);
  };
  for (let row = 0; row < rows; ) {
    addTo(sums, values, row * columns, columns);
    row++;
    for (let level = 1, unit = step; level < LEVELS && row % unit === 0; level++, unit *= step) {
      const below = levels[level - 1] as Float32Array;
      addTo(levels[level] as Float32Array, below, 0, columns);
      below.fill(0);
    }
  }
  for (const level of levels.slice(1)) addTo(sums, level, 0, columns);
  for (let vector = rows * VECTORS; vector < vectors; vector++) addTo(sums, values, vector * LANES, LANES);
  for (let vector = 1; vector < VECTORS; vector++) addTo(sums, sums, vector * LANES, LANES);
  let sum = 0;
  for (const value of values.subarray(vectors * LANES)) sum = Math.fround(sum + value);
  for (const value of sums.subarray(0, LANES)) sum = Math.fround(sum + value);
  return Math.fround(sum / values.length);
}
