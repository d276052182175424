import { MpError } from "@mp/graph";
import type { FitResult } from "../callbacks/callback.js";

/** The way in which `fit` or `steps` ends. */
export type End = FitResult["ended"];

/** Facts that must be the same on all ranks, in the order in which differences are named. */
export type Facts = Readonly<Record<string, string | number>>;

type Call = { readonly call: string; readonly facts: Facts };
/** The header that a rank sends before the ranks do something together. */
export type Header = Call | { readonly failed: string };

/** Ends that a single rank decides, by priority; the other ends follow from data and options. */
const OWN_ENDS: readonly End[] = ["aborted", "stopped"];

/**
 * Compares the headers of all ranks, JSON in rank order; returns how training ends, if a rank ends it.
 * @throws MP_RANK_MISMATCH naming the first rank that failed or differs from rank 0, and the difference
 */
export function compareHeaders(texts: readonly string[]): End | undefined {
  const [first] = texts;
  const isAlike = texts.every((text) => text === first);
  const all = (isAlike ? texts.slice(0, 1) : texts).map((text) => JSON.parse(text) as Header);
  const failing = all.findIndex((header) => "failed" in header);
  if (failing !== -1) {
    const { failed } = all[failing] as Extract<Header, { failed: string }>;
    throw mismatch(failing, `rank ${failing} failed: ${failed}`);
  }
  const calls = all as readonly Call[];
  const ends = calls.filter(({ call }) => call === "end").map(({ facts }) => facts["by"] as End);
  const stopped = OWN_ENDS.find((end) => ends.includes(end));
  if (stopped !== undefined) return stopped;
  if (!isAlike) throw differing(calls);
  return ends[0];
}

function differing(calls: readonly Call[]): MpError {
  const [zero] = calls as [Call];
  const rank = calls.findIndex((header) => JSON.stringify(header) !== JSON.stringify(zero));
  const other = calls[rank] as typeof zero;
  if (other.call !== zero.call) {
    return mismatch(rank, `rank ${rank} ${doing(other)} where rank 0 ${doing(zero)}`);
  }
  const names = Object.keys({ ...zero.facts, ...other.facts });
  const name = names.find((each) => zero.facts[each] !== other.facts[each]) as string;
  const showFact = ({ facts }: typeof zero): string => String(facts[name] ?? "missing");
  return mismatch(
    rank,
    `rank ${rank} differs from rank 0 at ${zero.call}: ${name} is ${showFact(other)} instead of ${showFact(zero)}`,
    name,
  );
}

/** Describes what a rank does: `makes step 3`, `is at the end of pass 1`. */
function doing({ call, facts }: Call): string {
  if (call === "step") return `makes step ${facts["step"]}`;
  if (call === "pass") return `is at the end of its data (pass ${facts["pass"]})`;
  return call === "end" ? `ends training (${facts["by"]})` : `calls ${call}`;
}

function mismatch(rank: number, message: string, differs?: string): MpError {
  return new MpError(
    "MP_RANK_MISMATCH",
    `ranks: ${message}; all ranks run the same program on batches of the same shapes, as many each`,
    { details: { rank, ...(differs === undefined ? {} : { differs }) } },
  );
}
