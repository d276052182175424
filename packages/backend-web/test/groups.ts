import { type ConformanceCase, inSuite, suiteCases } from "@mp/conformance";
import { trainingCases } from "@mp/conformance/training";

/** Groups of cases about this package's own work. */
const OWN = [
  "manifest",
  "factory",
  "transfer",
  "lifecycle",
  "aliasing",
  "state",
  "constant",
  "order",
  "repeat",
  "stats",
];

/** Training as a whole. Single operators run the shaders that `@mp/backend-ort` is tested with. */
const TRAINING = [
  ...["random", "finite-check", "autocast", "loss-scale", "master-weights", "skip", "retry"],
  ...["accumulate", "objectives", "remat", "run", "resume", "determinism", "leak"],
];

const groupOf = ({ id }: { readonly id: string }): string => id.slice(0, id.indexOf("/"));

const groups: readonly string[] = [...OWN, ...TRAINING];

/** The cases that are run. */
export const cases: readonly ConformanceCase[] = [...suiteCases, ...inSuite(trainingCases)].filter(
  (subject) => groups.includes(groupOf(subject)),
);

/** Cases that are run together, so that a large group is not one test of an hour. */
const TOGETHER = 50;

/** The ids of the cases that are run, by the name of their group and, in a large one, the number of the part. */
export const parts: readonly (readonly [name: string, ids: readonly string[]])[] = groups.flatMap((group) => {
  const ids = cases.filter((subject) => groupOf(subject) === group).map(({ id }) => id);
  const count = Math.ceil(ids.length / TOGETHER);
  return Array.from({ length: count }, (_, part) => [
    count === 1 ? group : `${group}, ${part + 1} of ${count}`,
    ids.slice(part * TOGETHER, (part + 1) * TOGETHER),
  ]);
});
