import type { Diagnosis } from "../diagnosis/diagnose.js";
import { columns } from "./columns.js";

const REMEDY = "→";

export function printDiagnosis({ healthy, findings }: Diagnosis): string {
  const rows = findings.flatMap(({ status, about, text, remedy }) => [
    [status, about, oneLine(text)],
    ...(remedy === undefined ? [] : [["", "", `${REMEDY} ${oneLine(remedy)}`]]),
  ]);
  return `${columns(rows)}\n${verdict({ healthy, findings })}\n`;
}

function verdict({ healthy, findings }: Diagnosis): string {
  if (healthy) return "Ready to train.";
  const problems = findings.filter(({ status }) => status === "problem").length;
  if (problems > 0) return `Not ready: ${problems} ${problems === 1 ? "problem" : "problems"}.`;
  return "Not ready: no engine is installed. @mp/core alone trains with its reference backend, which is slow.";
}

const oneLine = (text: string): string => text.replaceAll(/\s*\n\s*/g, " ");
