import type { ConformanceCase } from "../conformance-case.js";
import { allCases } from "./all-cases.js";
import { type Dtypes, suiteTable } from "./suite-table.js";

export interface CaseOptions {
  /**
   * The cases to run. `"suite"` (default): those that run at every commit. `"all"`: also those of the soak. Or a
   * list, possibly with your own cases.
   */
  readonly cases?: "suite" | "all" | readonly ConformanceCase[];
  /** `trainingCases` of `@mp/conformance/training`; `cases: "suite"` runs only some of them. Default none. */
  readonly training?: readonly ConformanceCase[];
}

export const caseGroup = ({ id }: { readonly id: string }): string => id.slice(0, id.indexOf("/"));

/** The cases that the options choose. */
export function chooseCases({ cases = "suite", training = [] }: CaseOptions): readonly ConformanceCase[] {
  if (cases === "suite") return [...suiteCases, ...inSuite(training)];
  return [...(cases === "all" ? allCases : cases), ...training];
}

/** Dtypes by kind. Dtypes of one kind can replace each other, except an operator's first, which has most samples. */
const KINDS: readonly (readonly string[])[] = [
  ["f32"],
  ["f16", "bf16"],
  ["i32", "i64", "u64"],
  ["bool", "u8", "f8e4m3", "f8e5m2"],
];
const kind = (dtype: string): number => KINDS.findIndex((dtypes) => dtypes.includes(dtype));

/** The dtype at the end of a feature, such as `i64` of `Cast-f32-to-i64`. */
const DTYPE = new RegExp(`-(${KINDS.flat().join("|")})$`);

interface Parts {
  readonly group: string;
  /** The id without its group. */
  readonly name: string;
  /** The id without its dtype; cases of one claim differ only in the dtype. */
  readonly claim: string;
  /** Empty for a case without a dtype. */
  readonly dtype: string;
}

function parts(id: string): Parts {
  const [group = "", feature = "", behaviour = ""] = id.split("/");
  const dtype = DTYPE.exec(feature)?.[1] ?? "";
  const claim = `${group}/${feature.slice(0, feature.length - dtype.length)}/${behaviour}`;
  return { group, name: `${feature}/${behaviour}`, claim, dtype };
}

function hash(text: string): number {
  let sum = 0;
  for (let at = 0; at < text.length; at++) sum = (Math.imul(sum, 31) + text.charCodeAt(at)) >>> 0;
  return sum;
}

/** Chooses one of the dtypes by a hash of the claim, so that every dtype occurs in some claims. */
const inTurn = (claim: string, dtypes: readonly string[]): string | undefined =>
  dtypes[hash(claim) % dtypes.length];

/** The dtypes of a claim that each value of `Dtypes` keeps. */
const choices: Readonly<
  Record<Dtypes, (claim: string, dtypes: readonly string[]) => readonly (string | undefined)[]>
> = {
  all: (_, dtypes) => dtypes,
  "first-dtype": (_, [first]) => [first],
  "two-dtypes": (claim, [first, ...others]) => [first, inTurn(claim, others)],
  "each-kind-of-dtype": (claim, dtypes) => [
    dtypes[0],
    ...KINDS.map((_, at) =>
      dtypes.some((dtype, index) => index === 0 && kind(dtype) === at)
        ? undefined
        : inTurn(
            claim,
            dtypes.filter((dtype) => kind(dtype) === at),
          ),
    ),
  ],
};

/** Returns the cases that the suite keeps. The list must have every dtype of each claim. */
export function inSuite(cases: readonly ConformanceCase[]): readonly ConformanceCase[] {
  const dtypes = new Map<string, string[]>();
  for (const { id } of cases) {
    const { claim, dtype } = parts(id);
    dtypes.set(claim, [...(dtypes.get(claim) ?? []), dtype]);
  }
  return cases.filter(({ id }) => {
    const { group, name, claim, dtype } = parts(id);
    return suiteTable[group]?.keeps.some((keep) =>
      keep instanceof RegExp
        ? keep.test(name)
        : choices[keep](claim, dtypes.get(claim) ?? []).includes(dtype),
    );
  });
}

/** The cases that every commit runs on every engine; the others run in the soak. */
export const suiteCases: readonly ConformanceCase[] = inSuite(allCases);
