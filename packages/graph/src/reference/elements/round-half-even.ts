/** Rounds to the nearest integer, halves to the even one; keeps the sign of zero. */
export function roundHalfEven(x: number): number {
  const magnitude = Math.abs(x);
  if (!(magnitude < 2 ** 52)) return x;
  // Doubles from 2^52 have spacing 1, so this addition rounds, ties to even.
  const rounded = magnitude + 2 ** 52 - 2 ** 52;
  return x < 0 || Object.is(x, -0) ? -rounded : rounded;
}
