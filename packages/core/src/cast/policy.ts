/**
 * A policy: which dtype each operator computes in. It does not depend on an engine. The operators that an engine cannot
 * compute in a half dtype are in the engine's manifest, which the casting pass takes as well.
 */
import {
  type CastCategory,
  type ComputeDType,
  type HalfDType,
  isHalf,
  MpError,
  OPS,
  type Op,
  opTable,
} from "@mp/graph";
import {
  CAST_CATEGORIES,
  checkOptions,
  dtypeHint,
  isWithin,
  longNames,
  meantInstead,
  type OptionNames,
} from "@mp/graph/internal";

/** The dtype to compute in; `manual`: only the user's casts apply. */
export type PolicyCompute = ComputeDType | "manual";

/**
 * One exception to the category table. If several match a node, the longest scope wins, then the one that names the
 * op.
 */
export interface CastingOverride {
  /** A scope path and everything below it (`decoder` matches `decoder/head`, not `decoder2`); "" matches everything. */
  readonly scope: string;
  /** The op that the override applies to; default every floating op of the scope. */
  readonly op?: Op;
  readonly category: CastCategory;
}

export type OpCategories = { readonly [K in Op]?: CastCategory };

export interface CastingPolicyChanges {
  /**
   * The dtype of the parameters that the policy is meant for, default f32. The policy is pure if `compute` is the same
   * half dtype; nothing else depends on this option. The casting pass reads parameters in the dtype they have, and a
   * trainer stores them as the precision's `masterWeights` says, perhaps in another dtype: `kahan("bf16")`.
   */
  readonly parameters?: ComputeDType;
  readonly compute?: PolicyCompute;
  /** The dtype that the floating results of the traced function are cast to. */
  readonly output?: ComputeDType;
  /** Categories by op, in all scopes. */
  readonly ops?: OpCategories;
  /** Categories by scope path, for all floating ops of the scope or per op. */
  readonly scopes?: { readonly [path: string]: CastCategory | OpCategories };
}

export interface CastingPolicy {
  readonly parameters: ComputeDType;
  readonly compute: PolicyCompute;
  readonly output: ComputeDType;
  /** Exceptions in a fixed order, whatever order they were given in. They have no effect if `compute` casts nothing. */
  readonly overrides: readonly CastingOverride[];
  /** This policy with changes; overrides are added to the existing ones. @throws MP_INVALID_ARGUMENT */
  with(changes: CastingPolicyChanges): CastingPolicy;
  /** The text that `parseCastingPolicy` reads; the same for equal policies. */
  toString(): string;
}

const CHANGES: OptionNames<CastingPolicyChanges> = {
  parameters: true,
  compute: true,
  output: true,
  ops: true,
  scopes: true,
};
const COMPUTE: readonly string[] = ["f32", "f16", "bf16"];
const FIXED_OPS = OPS.filter((op) => opTable[op].cast.f16 === "fixed");

/**
 * Makes a custom policy. If `parameters` and `compute` are the same half dtype, the policy is pure: no op list applies,
 * and every floating op is low unless overridden.
 * @throws MP_INVALID_ARGUMENT for an unknown dtype, op or category, or an invalid scope path
 */
export function castingPolicy(
  options: CastingPolicyChanges & { readonly compute: PolicyCompute },
): CastingPolicy {
  checkOptions("castingPolicy", options, CHANGES, '{ compute: "f16" }');
  const { compute, parameters = "f32", output = "f32" } = options;
  return buildPolicy(parameters, compute, output, overridesIn(options));
}

function buildPolicy(
  parameters: ComputeDType,
  compute: PolicyCompute,
  output: ComputeDType,
  given: readonly CastingOverride[],
): CastingPolicy {
  for (const [what, dtype] of Object.entries({ parameters, output, compute })) {
    if (!COMPUTE.includes(dtype) && !(what === "compute" && dtype === "manual")) {
      const or = what === "compute" ? ", or manual" : "";
      throw invalid(`${what} must be one of ${COMPUTE.join(", ")}${or}, got ${dtype}${dtypeHint(dtype)}`);
    }
  }
  const last = new Map(given.map((override) => [overrideKey(override), override]));
  const overrides = [...last].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, override]) => override);
  const policy: CastingPolicy = {
    parameters,
    compute,
    output,
    overrides: Object.freeze(overrides),
    with: (changes) => {
      checkOptions("castingPolicy: with", changes, CHANGES, '{ ops: { Tanh: "f32" } }');
      return buildPolicy(
        changes.parameters ?? parameters,
        changes.compute ?? compute,
        changes.output ?? output,
        [...overrides, ...overridesIn(changes)],
      );
    },
    toString: () => formatCastingPolicy(policy),
  };
  return Object.freeze(policy);
}

function overridesIn({ ops = {}, scopes = {} }: CastingPolicyChanges): readonly CastingOverride[] {
  const byOp = (scope: string, categories: OpCategories): CastingOverride[] =>
    Object.entries(categories).map(([op, category]) => checkOverride({ scope, op: op as Op, category }));
  return [
    ...byOp("", ops),
    ...Object.entries(scopes).flatMap(([scope, categories]) =>
      typeof categories === "string"
        ? [checkOverride({ scope, category: categories })]
        : byOp(scope, categories),
    ),
  ];
}

function checkOverride(override: CastingOverride): CastingOverride {
  const { scope, op, category } = override;
  if (op !== undefined && !Object.hasOwn(opTable, op)) {
    const meant = meantInstead(op, OPS);
    const remedy = [meant, "operators have their ONNX names"].filter((part) => part !== undefined).join(" ");
    throw invalid(`${op} is no operator; ${remedy}`);
  }
  if (op !== undefined && FIXED_OPS.includes(op)) {
    throw invalid(`${op} is as the user wrote it, no policy alters it`);
  }
  if (!CAST_CATEGORIES.includes(category)) {
    throw invalid(`${overrideKey(override)} must be one of ${CAST_CATEGORIES.join(", ")}, got ${category}`);
  }
  if (scope.split("/").includes("") && !(scope === "" && op !== undefined)) {
    throw invalid(`"${scope}" is no scope path; names are joined by single slashes`);
  }
  return Object.freeze(override);
}

function invalid(message: string): MpError<"MP_INVALID_ARGUMENT"> {
  return new MpError("MP_INVALID_ARGUMENT", `castingPolicy: ${message}`);
}

/** The half dtype that a policy lowers to; undefined if it casts nothing. */
export function lowDType(policy: CastingPolicy): HalfDType | undefined {
  return policy.compute !== "manual" && isHalf(policy.compute) ? policy.compute : undefined;
}

/** Whether parameters and arithmetic use the same half dtype, so that the op lists do not apply. */
export function isPure(policy: CastingPolicy): boolean {
  return lowDType(policy) === policy.parameters;
}

/** The override that applies to an op at a scope path, if any. */
export function overrideFor(policy: CastingPolicy, op: Op, scope: string): CastingOverride | undefined {
  let best: CastingOverride | undefined;
  for (const candidate of policy.overrides) {
    if (candidate.op !== undefined && candidate.op !== op) continue;
    if (!isWithin(scope, candidate.scope)) continue;
    const length = best?.scope.length ?? -1;
    if (candidate.scope.length > length) best = candidate;
    else if (candidate.scope.length === length && candidate.op !== undefined) best = candidate;
  }
  return best;
}

const escapeScope = (scope: string): string =>
  scope.replace(/[%,=:@\s]/g, (character) => encodeURIComponent(character));

function overrideKey({ scope, op }: CastingOverride): string {
  if (scope === "") return op ?? "";
  return `@${escapeScope(scope)}${op === undefined ? "" : `:${op}`}`;
}

/** Writes `params=f32,compute=f16,output=f32`, then overrides: `Softmax=infer,@decoder/head=f32,@decoder:Add=low`. */
export function formatCastingPolicy(policy: CastingPolicy): string {
  const { parameters, compute, output, overrides } = policy;
  const parts = [`params=${parameters}`, `compute=${compute}`, `output=${output}`];
  return [...parts, ...overrides.map((override) => `${overrideKey(override)}=${override.category}`)].join(
    ",",
  );
}

/**
 * Parses what `formatCastingPolicy` writes; also accepts the long names float32, float16 and bfloat16.
 * @throws MP_PARSE naming the part that is wrong, missing or repeated
 */
export function parseCastingPolicy(text: string): CastingPolicy {
  const dtypes = new Map<string, string>();
  const overrides: CastingOverride[] = [];
  const seen = new Set<string>();
  const wrong = (message: string, cause?: unknown): MpError<"MP_PARSE"> =>
    new MpError("MP_PARSE", `casting policy "${text}": ${message}`, { details: { text }, cause });
  for (const part of text.split(",").map((piece) => piece.trim())) {
    const [key = "", value, ...rest] = part.split("=").map((piece) => piece.trim());
    if (value === undefined || value === "" || rest.length > 0) throw wrong(`"${part}" is not key=value`);
    if (seen.has(key)) throw wrong(`${key} is given twice`);
    seen.add(key);
    if (key === "params" || key === "compute" || key === "output") dtypes.set(key, longNames[value] ?? value);
    else overrides.push(parseOverride(key, value, wrong));
  }
  for (const key of ["params", "compute", "output"]) {
    if (!dtypes.has(key)) throw wrong(`${key} is missing; the form is params=f32,compute=f16,output=f32`);
  }
  const [parameters, compute, output] = ["params", "compute", "output"].map((key) => dtypes.get(key));
  try {
    return buildPolicy(
      parameters as ComputeDType,
      compute as PolicyCompute,
      output as ComputeDType,
      overrides.map(checkOverride),
    );
  } catch (error) {
    if (!MpError.is(error)) throw error;
    throw wrong(error.message.replace(/^castingPolicy: /, ""), error);
  }
}

function parseOverride(key: string, value: string, wrong: (message: string) => Error): CastingOverride {
  const category = value as CastCategory;
  if (!key.startsWith("@")) {
    if (Object.hasOwn(opTable, key)) return { scope: "", op: key as Op, category };
    throw wrong(
      `${key === "" ? "a part without a key" : key} is none of params, compute, output, an op or @scope`,
    );
  }
  const [path = "", op, ...rest] = key.slice(1).split(":");
  if (rest.length > 0) throw wrong(`${key} is no @scope or @scope:Op`);
  let scope: string;
  try {
    scope = decodeURIComponent(path);
  } catch {
    throw wrong(`${key} is badly escaped`);
  }
  return op === undefined ? { scope, category } : { scope, op: op as Op, category };
}

/** Computes everything in f32: the casting pass changes no operator. */
export const float32Policy: CastingPolicy = castingPolicy({ compute: "f32" });
/** f32 parameters, arithmetic in f16 where it is safe. Needs loss scaling. */
export const mixedFloat16Policy: CastingPolicy = castingPolicy({ compute: "f16" });
/** f32 parameters, arithmetic in bf16 where it is precise enough. */
export const mixedBfloat16Policy: CastingPolicy = castingPolicy({ compute: "bf16" });
/** Everything in f16, also parameters, losses and outputs: shows why precision must be mixed. */
export const float16Policy: CastingPolicy = castingPolicy({
  parameters: "f16",
  compute: "f16",
  output: "f16",
});
/** Everything in bf16, also parameters, losses and outputs: shows why precision must be mixed. */
export const bfloat16Policy: CastingPolicy = castingPolicy({
  parameters: "bf16",
  compute: "bf16",
  output: "bf16",
});
/** No automatic casts, only the user's `cast` calls, as with MXNet's `net.cast`; results are cast to f32. */
export const manualPolicy: CastingPolicy = castingPolicy({ compute: "manual" });
