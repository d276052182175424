import { MpError } from "@mp/core";
import { expect, it } from "vitest";
import { figure } from "../figure.js";
import { lossFigure } from "../plots/history.js";
import { historyChart } from "./history-chart.js";

/** Steps as `training.step` returns them, without a step number. */
const run = [
  { loss: Number.NaN, scale: 4, applied: false, gradNorm: Number.POSITIVE_INFINITY },
  { loss: 2, scale: 2, applied: true, gradNorm: 3 },
  { loss: 1, scale: 2, applied: true, gradNorm: 0.5 },
];
const labelOf = (svg: string): string | undefined => / aria-label="([^"]*)"/.exec(svg)?.[1];
/** The path of the line, in the plot's own coordinates whatever its width and place. */
const linesOf = (svg: string): readonly string[] =>
  [...svg.matchAll(/aria-label="line">(.*?)<\/g>/g)].map(([, line = ""]) => line);

it("says in words what is drawn", () => {
  expect((["loss", "scale", "gradients"] as const).map((kind) => labelOf(historyChart(kind, run)))).toEqual([
    "Loss: from 2 to 1 in 3 steps",
    "Loss scale and skipped steps: 1 of 3 steps were skipped; the scale ends at 2",
    "Gradients: from 3 to 0.5 in 3 steps",
  ]);
});

it("counts steps from 1 where they have no number, as the page does where they have one", () => {
  const numbered = run.map((step, index) => ({ ...step, step: index + 1 }));
  expect(historyChart("loss", run)).toBe(historyChart("loss", numbered));
  const later = run.map((step, index) => ({ ...step, step: index + 101 }));
  expect(historyChart("loss", later)).toContain(">101</text>");
});

it("draws the lines of the page's own figure", () => {
  const onPage = linesOf(figure(lossFigure(run)).text);
  // The wide one of the page's two drawings is as wide as the plot of a chart that is 11 pixels wider.
  expect(linesOf(historyChart("loss", run, { width: 547 }))).toEqual(onPage.slice(1));
  expect(onPage[1]).toContain("<path");
});

it("draws several runs over each other, with their names as text", () => {
  const svg = historyChart("scale", { "<b>": run, other: run.slice(1) });
  expect(linesOf(svg)).toHaveLength(2);
  const widths = [...svg.matchAll(/stroke-width="([\d.]+)"[^>]*aria-label="line"/g)].map(
    ([, width]) => width,
  );
  expect(widths).toEqual(["3.6", "1.8"]);
  expect(svg).toContain(">&lt;b&gt;</text>");
  expect(svg).not.toContain("<b>");
  expect(svg).toContain(">skipped (1 of 5)</text>");
});

it("has both palettes, within its own class, and loads nothing", () => {
  const svg = historyChart("loss", run, { width: 336 });
  expect(svg).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" class="mp-chart" role="img"/);
  const [, style = ""] = /<style>\n(.*?)<\/style>/s.exec(svg) ?? [];
  expect([...style.matchAll(/^ *([^ @].*?) \{/gm)].map(([, selector]) => selector)).toEqual([
    ".mp-chart",
    ".mp-chart text",
    ".mp-chart",
  ]);
  for (const [, name] of svg.matchAll(/var\((--[a-z]+)\)/g)) {
    expect([name, style.split(`${name}:`).length]).toEqual([name, 3]);
  }
  expect(svg).toContain('viewBox="0 0 336 ');
  expect(svg).not.toMatch(/https?:\/\/(?!www\.w3\.org\/)|<script|url\(|href/);
});

const [step] = run;
it.each([
  ["skips", run, {}, 'historyChart: figure must be "loss" or "scale" or "gradients", got "skips"'],
  ["loss", [], {}, "historyChart: history must be a list of one or more results of training.step, got"],
  ["loss", { a: run, b: [] }, {}, "historyChart: b must be a list of one or more results of training.step"],
  ["loss", [1, 2], {}, "historyChart: history must be a list of one or more results of training.step, got"],
  ["loss", undefined, {}, "historyChart: history must be an object, got undefined"],
  ["loss", {}, {}, "historyChart: the number of runs must be an integer from 1 to 5, got 0"],
  ["gradients", [{ ...step, gradNorm: undefined }], {}, "must be a list of steps with their gradNorm"],
  ["loss", run, { width: 100 }, "historyChart: width must be an integer ≥ 240, got 100"],
  ["loss", run, { wide: 400 }, "historyChart"],
])("refuses %s of %j in %j", (kind, history, options, message) => {
  const draw = () => historyChart(kind as "loss", history as typeof run, options as { width?: number });
  expect(draw).toThrow(message);
  expect(draw).toThrow(expect.objectContaining({ code: "MP_INVALID_ARGUMENT" }));
  expect(draw).toThrow(MpError);
});
