import type { PrecisionReport } from "@mp/core";

/** Matches a part of a `sequential`: `0 dense`. The layer opens a scope of the same name inside. */
const PART = /^(\d+) (.+)$/;

/** A part of a path, as in parameters' paths and as shown on the page. */
interface PathPart {
  readonly key: string;
  readonly shown: string;
}

/** Returns the name that the page shows for a path. */
export type NameOf = (path: string, label?: string) => string;

/**
 * Names layers by their labels, which show the kinds of a `sequential`'s parts. A path without a label gets the label
 * of its scope; other paths, such as a parameter's, begin with the name of their scope.
 */
export function layerNames({ groups, casts }: PrecisionReport): NameOf {
  const scopes = groups.map(({ layer, label }) => [layer, label] as const);
  scopes.push(...casts.nodes.map(({ scope, label }) => [scope, label] as const));
  const labels = new Map<string, string | undefined>();
  for (const [scope, label] of scopes) {
    // Two models that are called in one scope can have parts with the same paths.
    labels.set(scope, labels.has(scope) && labels.get(scope) !== label ? undefined : label);
  }
  const known = namesByPath(scopes.flatMap(([, label]) => label ?? []));
  return (path, label = labels.get(path)) =>
    label === undefined ? nameByPath(path, known) : displayPath(parseLabel(label));
}

/** Replaces the paths of layers in a report by their names. */
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

function parseLabel(label: string): readonly PathPart[] {
  const steps: PathPart[] = [];
  let own: string | undefined;
  for (const shown of label.split("/")) {
    const [, index, kind] = PART.exec(shown) ?? [];
    if (shown !== own) steps.push({ key: index ?? shown, shown });
    own = kind;
  }
  return steps;
}

const displayPath = (steps: readonly PathPart[]): string => steps.map(({ shown }) => shown).join("/");

/** The name of each path; undefined if scopes disagree. */
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
