import type { PrecisionReport } from "@mp/core";

/** Part `0` of a `sequential`, `0 dense`; layers open a scope of their own name within it. */
const PART = /^(\d+) (.+)$/;

/** One step of a path: as the parameters' paths have it, and as it is shown. */
interface Step {
  readonly key: string;
  readonly shown: string;
}

/** Names a path for the reader. */
export type NameOf = (path: string, label?: string) => string;

/**
 * Names of layers by their labels: parts of a `sequential` with what they are, once. A path without a label gets that
 * of the scope it is, or else the name of the scope whose path it shares, such as a parameter's.
 */
export function layerNames({ groups, casts }: PrecisionReport): NameOf {
  const scopes = groups.map(({ layer, label }) => [layer, label] as const);
  scopes.push(...casts.nodes.map(({ scope, label }) => [scope, label] as const));
  const labels = new Map<string, string | undefined>();
  for (const [scope, label] of scopes) {
    // Two models called within one scope of the caller's can share the paths of their parts.
    labels.set(scope, labels.has(scope) && labels.get(scope) !== label ? undefined : label);
  }
  const known = namesByPath(scopes.flatMap(([, label]) => label ?? []));
  return (path, label = labels.get(path)) =>
    label === undefined ? nameByPath(path, known) : displayPath(parseLabel(label));
}

/** The report with these names of layers. */
export function withLayerNames(
  report: PrecisionReport,
  nameOf: NameOf = layerNames(report),
): PrecisionReport {
  const { groups, casts, gradients } = report;
  const { largestIn } = gradients;
  return {
    ...report,
    groups: groups.map((group) => ({ ...group, layer: nameOf(group.layer, group.label) })),
    casts: {
      ...casts,
      nodes: casts.nodes.map((node) => ({ ...node, scope: nameOf(node.scope, node.label) })),
    },
    gradients: {
      ...gradients,
      largestIn: largestIn && { ...largestIn, layer: nameOf(largestIn.layer, largestIn.label) },
    },
  };
}

function parseLabel(label: string): readonly Step[] {
  const steps: Step[] = [];
  let own: string | undefined;
  for (const shown of label.split("/")) {
    const [, index, kind] = PART.exec(shown) ?? [];
    if (shown !== own) steps.push({ key: index ?? shown, shown });
    own = kind;
  }
  return steps;
}

const displayPath = (steps: readonly Step[]): string => steps.map(({ shown }) => shown).join("/");

/** The name of each path, or undefined where scopes disagree. */
function namesByPath(labels: readonly string[]): ReadonlyMap<string, string | undefined> {
  const names = new Map<string, string | undefined>();
  for (const label of new Set(labels)) {
    const steps = parseLabel(label);
    for (let length = 1; length <= steps.length; length++) {
      const part = steps.slice(0, length);
      const [path, name] = [part.map(({ key }) => key).join("/"), displayPath(part)];
      names.set(path, names.has(path) && names.get(path) !== name ? undefined : name);
    }
  }
  return names;
}

function nameByPath(path: string, known: ReadonlyMap<string, string | undefined>): string {
  const parts = path.split("/");
  for (let length = parts.length; length > 0; length--) {
    const name = known.get(parts.slice(0, length).join("/"));
    if (name !== undefined) return [name, ...parts.slice(length)].join("/");
  }
  return path;
}
