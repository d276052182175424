/** The end of `npm start`: a table and what it says, all from the figures of the run. */
import type { Trained } from "./fine-tune.js";

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
const loss = (value: number): string => value.toFixed(3);

const COLUMNS: Readonly<Record<string, (run: Trained) => string>> = {
  "loss before": ({ before }) => loss(before),
  "loss after": ({ after }) => loss(after),
  "updates lost": ({ lost }) => percent(lost),
  "gradients that were 0": ({ zeros }) => percent(zeros),
};

/** A row for each run, with its name before. */
export function formatTable(runs: Readonly<Record<string, Trained>>): string {
  const names = Object.keys(runs);
  const nameWidth = Math.max(...names.map((name) => name.length));
  const line = (name: string, cell: (column: string) => string) =>
    [
      name.padEnd(nameWidth),
      ...Object.keys(COLUMNS).map((column) => cell(column).padStart(column.length)),
    ].join("  ");
  return [
    line("", (column) => column),
    ...Object.entries(runs).map(([name, run]) => line(name, (column) => COLUMNS[column]?.(run) ?? "")),
  ].join("\n");
}

/** Says what float16 lost, and what brought it back. */
export function formatConclusion(float32: Trained, mixed: Trained, float16: Trained): string {
  const rounded = Math.max(0, float16.zeros - float32.zeros);
  const scale = mixed.history.at(-1)?.scale;
  return `Alone, float16 lost ${percent(float16.lost)} of the updates, because they were too small to change the number that they were added to, and ${percent(rounded)} of the gradients, which were too small for float16 and became 0. Mixed precision computes in float16 too, but it adds the updates to weights in float32 (${percent(mixed.lost)} lost), and it multiplies the loss by ${scale}, so that small gradients are not 0. It ended ${Math.abs(mixed.after - float32.after).toFixed(3)} from the loss of float32, and float16 alone ${Math.abs(float16.after - float32.after).toFixed(3)}.`;
}
