import { expect, it } from "vitest";
import { progressLine } from "./progress-line.js";
import type { Outcome, Status } from "./report.js";

const outcome = (id: string, status: Status = "passed"): Outcome => ({
  id,
  status,
  detail: "",
  milliseconds: 1,
});

function terminal(columns = 80) {
  let text = "";
  return {
    isTTY: true,
    columns,
    write: (more: string) => {
      text += more;
    },
    /** The current text of the line. */
    line: () => text.split("\r\u001b[K").at(-1),
  };
}

it("shows how many cases have ended, how many failed, and the last one", () => {
  const screen = terminal();
  let time = 0;
  const progress = progressLine(3, screen, () => time);
  progress.add(outcome("a/b/c"));
  expect(screen.line()).toBe("conformance: 1 of 3 cases, 0 failed, a/b/c");
  time += 10;
  progress.add(outcome("a/b/d", "failed"));
  expect(screen.line()).toContain("a/b/c");
  time += 100;
  progress.add(outcome("a/b/e"));
  expect(screen.line()).toBe("conformance: 3 of 3 cases, 1 failed, a/b/e");
  progress.clear();
  expect(screen.line()).toBe("");
});

it("keeps to one line", () => {
  const screen = terminal(30);
  progressLine(1, screen).add(outcome("a-long-group/a-long-feature/a-long-claim"));
  expect(screen.line()).toHaveLength(29);
});

it("writes nothing where there is no terminal", () => {
  const written: string[] = [];
  progressLine(1, { write: (text) => written.push(text) }).add(outcome("a/b/c"));
  progressLine(1, undefined).add(outcome("a/b/c"));
  expect(written).toEqual([]);
});
