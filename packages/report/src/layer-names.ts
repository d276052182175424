import type { PrecisionReport } from "@mp/core";
import type { ValueGroup } from "@mp/core/report";

/** Matches the scope of a `sequential`'s part, such as `0 dense`. Inside, the layer opens a scope `dense`. */
const PART = /^(\d+) (.+)$/;

/** A part of a path, as in parameters' paths and as shown on the page. */
interface PathPart {
  readonly key: string;
  readonly shown: string;
}

/** Returns the name that the page shows for a path. */
export type NameOf = (path: string, label?: string) => string;

/**
 * Names layers by labels, which show the type of a `sequential`'s parts. Without a given label, a scope has
 * its label in the report. Any other path, such as a parameter's, begins with the name of its scope.
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
  const named = <T extends ValueGroup>(group: T | undefined) =>
    group && { ...group, layer: nameOf(group.layer, group.label) };
  return {
    ...report,
    groups: groups.map((group) => ({ ...group, layer: nameOf(group.layer, group.label) })),
    casts: {
      ...casts,
      nodes: casts.nodes.map((node) => ({ ...node, scope: nameOf(node.scope, node.label) })),
    },
    gradients: {
      ...gradients,
      largestIn: named(gradients.largestIn),
      beyond: named(gradients.beyond),
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
