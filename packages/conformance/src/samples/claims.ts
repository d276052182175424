/** What a sample shows of its operator, in words, so that a few samples can be chosen that show all of it. */
import { elementCount, type Op, type Shape } from "@mp/graph";
import type { OpSample } from "./op-sample.js";

/** Attributes that every sample has another value of. */
const UNTOLD = /^(equation|starts|ends)$/;

const placeOf = (axis: number, rank: number): string =>
  axis === 0 ? "first" : axis < rank - 1 ? "inner" : "last";

const kindOf = (value: unknown): string =>
  typeof value !== "number" || Math.abs(value) <= 1 || !Number.isFinite(value)
    ? String(value)
    : value < 0
      ? "negative"
      : "more";

/** The axes that an attribute names, or the kind of each of its numbers and the axis that it applies to. */
function outline(name: string, value: unknown, rank: number, axes: readonly number[]): readonly string[] {
  if (name === "axis" || name === "batchDims") return [`${placeOf(value as number, rank)} of ${rank}`];
  if (!Array.isArray(value)) return typeof value === "object" ? [] : [kindOf(value)];
  const places = (value as readonly number[]).map((one, at) => {
    if (name === "axes") return placeOf(one, rank);
    return `${name === "perm" ? one === at : kindOf(one)} ${placeOf(axes[at] ?? at % rank, rank)}`;
  });
  const each = places.map((place) => `${place} of ${rank}`);
  return name === "axes" ? [...each, [...new Set(places)].join()] : each;
}

/** Which axes of a shape broadcast to, or are narrower than, those of the whole. */
function narrowing(shape: Shape, whole: Shape): string {
  const off = whole.length - shape.length;
  const marks = shape.flatMap((size, axis) =>
    size === 1 ? [`1 ${placeOf(axis + off, whole.length)}`] : size === 0 ? ["0"] : [],
  );
  return [Math.sign(off), ...new Set(marks)].join(" ");
}

/** The claims of a sample: attributes alone and flags together, ranks, sides of 1 and 0, and lengths that leave a rest. */
export function claimsOf<K extends Op>({ attributes, inputs }: OpSample<K>): readonly string[] {
  const shapes = inputs.map(({ shape }) => shape);
  const sizes = shapes.map((shape) => elementCount(shape, "test data"));
  const count = Math.max(0, ...sizes);
  const [whole = [], rank = 0] = [shapes[sizes.indexOf(count)], shapes[0]?.length];
  const told = Object.entries(attributes).filter(([name]) => !UNTOLD.test(name));
  const axes = "axes" in attributes ? (attributes.axes as readonly number[]) : [];
  const last = whole.at(-1) ?? 0;
  const narrow = shapes.map((shape) => narrowing(shape, whole));
  return [
    ...told.flatMap(([name, value]) => outline(name, value, rank, axes).map((each) => `${name} ${each}`)),
    told.flatMap(([, value]) => (/boolean|string/.test(typeof value) ? [value] : [])).join(),
    `of ${inputs.map(({ dtype }) => dtype).join()}`,
    ...shapes.flatMap(({ length }, at) => [`${at} of rank ${length}`, `${at} is ${narrow[at]}`]),
    `together ${narrow.slice(0, 2).join()}`,
    ...[4, 16, 256].filter((most) => last > most && last % 4 > 0).map((most) => `beyond ${most}`),
    ...(count > 1024 ? ["long"] : []),
  ];
}

/** The places of lists that together make every claim, chosen greedily. */
export function covering(claims: readonly (readonly string[])[]): readonly number[] {
  const open = claims.map((list) => new Set(list));
  const chosen: number[] = [];
  for (;;) {
    const most = Math.max(0, ...open.map(({ size }) => size));
    if (most === 0) return chosen;
    const at = open.findIndex(({ size }) => size === most);
    chosen.push(at);
    for (const claim of [...(open[at] ?? [])]) for (const left of open) left.delete(claim);
  }
}
