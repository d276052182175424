/** The report of several processes that share the conformance suite. Any of them may have ended early. */
import { lastJson } from "./process.mjs";

const MOST_PROCESSES = 16;

/** Number of processes that share the suite. A GPU leaves one core free. @param {string} device @param {number} cores */
export const processCount = (device, cores) =>
  device === "cpu" ? 1 : Math.max(1, Math.min(MOST_PROCESSES, cores - 1));

/**
 * The arguments of each of `count` processes, which together run every `share`-th case.
 * @param {readonly string[]} args engine, device and share
 * @param {number} count
 */
export function splitArguments([engine = "", device = "", share = "1"], count) {
  return Array.from({ length: count }, (_, index) => [
    engine,
    device,
    String(Number(share) * count),
    String(Number(share) * index),
  ]);
}

/** @param {readonly import("./process.mjs").Ended[]} parts */
export function suiteReport(parts) {
  /** @type {Record<string, number>} */
  const counts = {};
  /** @type {string[]} */
  const failures = [];
  for (const line of parts.flatMap(({ output }) => output.split("\n"))) {
    const [, status, id, detail] = /^case (\S+) (\S+)(?: (.*))?$/.exec(line) ?? [];
    if (status === undefined) continue;
    counts[status] = (counts[status] ?? 0) + 1;
    if (status === "failed") failures.push(`${id}: ${parseText(detail ?? '""')}`);
  }
  const cut = parts.flatMap((part) => (lastJson(part.output) === undefined ? [cutShort(part)] : []));
  return { ok: failures.length === 0 && cut.length === 0, processes: parts.length, counts, failures, cut };
}

/** Parses a JSON string; returns the text unchanged if the output broke off within it. @param {string} json */
function parseText(json) {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}

/** @param {import("./process.mjs").Ended} part */
function cutShort({ code, signal, output, errors }) {
  const last = output.split("\n").findLast((line) => line.startsWith("case "));
  return `${signal ?? `exit code ${code}`} after ${last ?? "no case"}; ${errors}`;
}
