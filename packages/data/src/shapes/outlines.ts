/** The signed distance to a figure's outline, negative inside, in units of its radius. */
export type Distance = (x: number, y: number) => number;
type Point = readonly [x: number, y: number];

const polar = (radius: number, turns: number): Point => [
  radius * Math.cos(2 * Math.PI * turns),
  radius * Math.sin(2 * Math.PI * turns),
];

const regular = (corners: number): Point[] =>
  Array.from({ length: corners }, (_, index) => polar(1, index / corners));

const star = (points: number, inner: number): Point[] =>
  Array.from({ length: 2 * points }, (_, index) => polar(index % 2 === 0 ? 1 : inner, index / (2 * points)));

/** Half the width of the cross' arms. */
const ARM = 0.32;

const cross: readonly Point[] = [
  [-ARM, -1],
  [ARM, -1],
  [ARM, -ARM],
  [1, -ARM],
  [1, ARM],
  [ARM, ARM],
  [ARM, 1],
  [-ARM, 1],
  [-ARM, ARM],
  [-1, ARM],
  [-1, -ARM],
  [-ARM, -ARM],
];

const arrow: readonly Point[] = [
  [1, 0],
  [0.05, 0.8],
  [0.05, 0.3],
  [-1, 0.3],
  [-1, -0.3],
  [0.05, -0.3],
  [0.05, -0.8],
];

/** Signed distance to a polygon, negative inside (Inigo Quilez's sdPolygon): nearest edge, sign by crossings. */
function polygon(corners: readonly Point[]): Distance {
  const xs = Float64Array.from(corners, ([x]) => x);
  const ys = Float64Array.from(corners, ([, y]) => y);
  return (x, y) => {
    let nearest = Number.POSITIVE_INFINITY;
    let sign = 1;
    for (let i = 0, j = xs.length - 1; i < xs.length; j = i, i++) {
      const [ax, ay] = [xs[i] as number, ys[i] as number];
      const [ex, ey] = [(xs[j] as number) - ax, (ys[j] as number) - ay];
      const [wx, wy] = [x - ax, y - ay];
      const along = Math.min(1, Math.max(0, (wx * ex + wy * ey) / (ex * ex + ey * ey)));
      const [dx, dy] = [wx - ex * along, wy - ey * along];
      nearest = Math.min(nearest, dx * dx + dy * dy);
      const isAbove = wy >= 0;
      const isBelow = y < (ys[j] as number);
      const isLeft = ex * wy > ey * wx;
      if (isAbove === isBelow && isAbove === isLeft) sign = -sign;
    }
    return sign * Math.sqrt(nearest);
  };
}

const length = (x: number, y: number): number => Math.sqrt(x * x + y * y);
const disc: Distance = (x, y) => length(x, y) - 0.9;

/** The figures; the index is the label. No two have the same outline, as a ring and a disc would. */
export const OUTLINES: readonly { readonly name: string; readonly distance: Distance }[] = [
  { name: "disc", distance: disc },
  { name: "triangle", distance: polygon(regular(3)) },
  { name: "square", distance: polygon(regular(4)) },
  { name: "star", distance: polygon(star(5, 0.45)) },
  { name: "cross", distance: polygon(cross) },
  // Exact only at the ellipse's edge, which is enough to draw it.
  { name: "oval", distance: (x, y) => (length(x, y / 0.55) - 1) * 0.7 },
  { name: "pentagon", distance: polygon(regular(5)) },
  { name: "half disc", distance: (x, y) => Math.max(length(x, y) - 1, 0.15 - x) },
  { name: "crescent", distance: (x, y) => Math.max(length(x, y) - 1, 0.75 - length(x - 0.5, y)) },
  { name: "arrow", distance: polygon(arrow) },
];

export const findOutline = (label: number): Distance => (OUTLINES[label] as (typeof OUTLINES)[0]).distance;
