/** Combines groups of parameters, each with an optimizer of its own, into one optimizer. */
import { isTensor, leavesOf, mapTree, type Tensor, type TensorTree } from "@mp/graph";
import { invalid, isWithin, keyProblem, namesInstead, partOf, shown } from "@mp/graph/internal";
import { checkUpdate } from "./check-update.js";
import {
  DEFAULT_GROUP,
  groupName,
  type LearningRate,
  type Optimizer,
  type UpdateContext,
  widestScope,
} from "./optimizer.js";

/** Tells whether a parameter belongs to a group, by its path (names joined by `/`) and its shape. */
export type ParameterTest = (path: string, parameter: { readonly shape: readonly number[] }) => boolean;

/** Parameters, and the optimizer that updates them. */
export interface PathRule {
  /** The group's name in the `rates` of a step and in the state; neither `default` nor a name with a slash or a dot. */
  readonly group: string;
  /**
   * A path of the parameters and everything below it (`decoder` matches `decoder/head`, not `decoder2`), a list of
   * such paths, or a function of a parameter's path and shape.
   */
  readonly paths: string | readonly string[] | ParameterTest;
  readonly optimizer: Optimizer;
}

/**
 * Parameters of fewer than two dimensions: biases, and the scales and shifts of normalizations. Weight decay usually
 * leaves them out: `{ group: "flat", paths: biasesAndNorms, optimizer: adamW({ weightDecay: 0, … }) }`.
 */
export const biasesAndNorms: ParameterTest = (_path, { shape }) => shape.length < 2;

interface Group extends PathRule {
  /** Paths that the parameters must have. */
  readonly paths: readonly string[];
  readonly isIn: ParameterTest;
  /** The group's name and rule, for the description. */
  readonly title: string;
}

/**
 * Makes an optimizer that updates groups of parameters in different ways. A parameter belongs to the first rule that
 * matches its path, or to `rest`, whose group is `default`. Each rule's optimizer sees only its own group, so
 * `clipByGlobalNorm` in a rule clips by the norm of that group; the trainer's `clipNorm`, or a `chain` around `byPath`,
 * clips by the norm of all groups. A rule's optimizer may have groups as well, named `outer.inner`. Frozen parameters
 * belong to no group.
 * @throws MP_INVALID_ARGUMENT for a malformed rule, two groups of one name, or, when training begins, a path that the
 *   parameters do not have or a function that does not give true or false
 */
export function byPath(
  rules: readonly PathRule[],
  rest: Optimizer,
): Optimizer<{ readonly [group: string]: TensorTree }> {
  if (!Array.isArray(rules)) refuse(`takes a list of rules and an optimizer, got ${shown(rules)}`);
  const others = { group: DEFAULT_GROUP, optimizer: rest, paths: [], isIn: () => true, title: DEFAULT_GROUP };
  const groups: readonly Group[] = [...rules.map(readGroup), others];
  for (const { group, optimizer } of groups) checkOptimizer(group, optimizer);
  const names = groups.flatMap((group) => [
    ...new Set([group.group, ...groupRates(group).map(([name]) => name)]),
  ]);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) refuse(`two groups are named ${twice}`);
  const described = groups.map(
    ({ title, optimizer: { name, description = name } }) => `${title}: ${description}`,
  );
  return {
    name: "byPath",
    description: `byPath(${described.join("; ")})`,
    learningRates: Object.fromEntries(groups.flatMap(groupRates)),
    ...widestScope(groups.map(groupScope)),
    init: (parameters) => {
      for (const group of groups) checkPaths(group, parameters);
      const part = split(groups, parameters);
      return Object.fromEntries(
        groups.map(({ group, optimizer }) => [group, optimizer.init(part(group, parameters))]),
      );
    },
    update: (gradients, state, parameters, context) => {
      const part = split(groups, parameters);
      const updates = new Map<string, Tensor>();
      const rates: Tensor[] = [];
      const next = groups.map(({ group, optimizer }) => {
        const own = part(group, gradients);
        const result = optimizer.update(own, state[group] ?? {}, part(group, parameters), {
          ...context,
          settable: ownRates(group, optimizer, context),
        });
        checkUpdate(optimizer.name, result, own);
        for (const [path, update] of leavesOf(result.updates, isTensor, "updates")) updates.set(path, update);
        rates.push(...(result.rates ?? []));
        return [group, result.state] as const;
      });
      return {
        updates: mapTree(gradients, isTensor, (_gradient, path) => updates.get(path) as Tensor) as TensorTree,
        state: Object.fromEntries(next),
        rates,
      };
    },
  };
}

/** The scope of a group; `leaf` if a function chooses parameters by shape, since part of a leaf has another shape. */
const groupScope = ({ paths, group, optimizer }: Group): Pick<Optimizer, "scope"> =>
  paths.length > 0 || group === DEFAULT_GROUP || optimizer.scope === undefined
    ? optimizer
    : { scope: "leaf" };

/** The learning rates of a group, named as in `byPath`. */
function groupRates({ group, optimizer }: Group): readonly (readonly [name: string, rate: LearningRate])[] {
  const rates = Object.entries(optimizer.learningRates ?? {});
  return rates.map(([inner, rate]) => [groupName(group, inner), rate] as const);
}

/** The rates that the host has set, named as in the group's optimizer. */
function ownRates(
  group: string,
  { learningRates = {} }: Optimizer,
  { settable = {} }: UpdateContext,
): Readonly<Record<string, Tensor>> {
  const own = Object.keys(learningRates).flatMap((inner) => {
    const rate = settable[groupName(group, inner)];
    return rate === undefined ? [] : [[inner, rate] as const];
  });
  return Object.fromEntries(own);
}

/** Assigns parameters to groups. @returns a function that gives a group's part of any tree like the parameters */
function split(
  groups: readonly Group[],
  parameters: TensorTree,
): (group: string, tree: TensorTree) => TensorTree {
  const owners = new Map(
    leavesOf(parameters, isTensor, "parameters").map(([path, { shape }]) => [
      path,
      groups.find(({ isIn }) => isIn(path, { shape }))?.group,
    ]),
  );
  return (group, tree) => partOf(tree, (path) => owners.get(path) === group);
}

function readGroup(rule: PathRule, index: number): Group {
  const { group, paths, optimizer } = (rule ?? {}) as PathRule;
  const problem = typeof group === "string" ? nameProblem(group) : "is no text";
  if (problem !== undefined) refuse(`the group of rule ${index}, ${shown(group)}, ${problem}`);
  if (typeof paths === "function")
    return {
      group,
      optimizer,
      paths: [],
      isIn: tester(group, paths),
      title: `${group} ${paths.name || "unnamed"}`,
    };
  const scopes: readonly string[] = typeof paths === "string" ? [paths] : Array.isArray(paths) ? paths : [];
  const isPath = (path: unknown): boolean => typeof path === "string" && !path.split("/").includes("");
  if (scopes.length === 0 || !scopes.every(isPath)) {
    refuse(
      `paths of ${group} must be names joined by single slashes, such as "encoder/layer0", or a function, got ${shown(paths)}`,
    );
  }
  const isIn: ParameterTest = (path) => scopes.some((scope) => isWithin(path, scope));
  return { group, optimizer, paths: scopes, isIn, title: `${group} ${scopes.join(" ")}` };
}

/** Wraps a user's test and checks its results, because the promise of an async function would match every parameter. */
const tester =
  (group: string, test: ParameterTest): ParameterTest =>
  (path, parameter) => {
    const isIn: unknown = test(path, parameter);
    if (typeof isIn !== "boolean")
      refuse(`paths of ${group} gives true or false for each parameter, got ${shown(isIn)} for ${path}`);
    return isIn;
  };

function nameProblem(group: string): string | undefined {
  if (group === DEFAULT_GROUP) return "is the name of what no rule matches";
  return group.includes(".") ? "contains a dot" : keyProblem(group);
}

function checkOptimizer(group: string, optimizer: unknown): void {
  const { update, kind } = (optimizer ?? {}) as { readonly update?: unknown; readonly kind?: unknown };
  if (typeof update !== "function")
    refuse(`${group} takes an optimizer such as adamW({ learningRate: 1e-3 }), got ${shown(optimizer)}`);
  if (kind === "gradient")
    refuse(
      `the part of ${group} gives gradients and no steps; end it with an optimizer: chain(…, sgd({ learningRate: 0.1 }))`,
    );
}

/** Refuses paths that no parameter has, because after a typo other rules would apply. Frozen leaves are `{}` here. */
function checkPaths({ group, paths }: Group, parameters: TensorTree): void {
  for (const path of paths) {
    let node: unknown = parameters;
    for (const key of path.split("/")) {
      const isInner =
        typeof node === "object" && node !== null && !isTensor(node) && Object.hasOwn(node, key);
      if (!isInner)
        refuse(
          `group ${group}: the parameters have no ${path}${isTensor(node) ? "" : namesInstead(key, node)}`,
        );
      node = (node as Readonly<Record<string, unknown>>)[key];
    }
  }
}

function refuse(message: string): never {
  throw invalid(`byPath: ${message}`);
}
