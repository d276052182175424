export function leastBig(a: bigint, b: bigint): bigint {
  if (a < b) return a;
  return b;
}

export function greatestBig(a: bigint, b: bigint): bigint {
  if (a > b) return a;
  return b;
}
