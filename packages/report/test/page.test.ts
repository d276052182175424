import type { RecipeReport } from "@mp/core/report";
import { beforeAll, describe, expect, it } from "vitest";
import { precisionReportPage, type ReportedRun } from "../src/index.js";
import { percent, significant } from "../src/numbers.js";
import { type MadeRun, reportedRuns } from "./runs.js";

let run: MadeRun;
let few: MadeRun;
const pages: Record<string, string> = {};

beforeAll(async () => {
  const runs = await reportedRuns();
  run = runs.trained;
  few = runs.few;
  for (const [name, reported] of Object.entries(runs)) pages[name] = precisionReportPage(reported);
});

describe("the page", () => {
  it("begins with what the run came to, its date and its size", () => {
    const [head = ""] = (pages["trained"] ?? "").split("</header>");
    const facts = [...head.matchAll(/<dt>(.*?)<\/dt><dd>(.*?)<\/dd>/g)].map(([, name, value]) => [
      name,
      value,
    ]);
    expect(facts[0]).toEqual(["accuracy", "0.75"]);
    expect(Object.fromEntries(facts)).toMatchObject({
      "trained parameters": "1,664",
      steps: "24",
      seed: "1",
      "date (UTC)": "2026-01-02 03:04",
    });
  });

  it("draws what counted in each step where the loss has a weight", () => {
    const history = run.history?.map((step, index) => ({ ...step, weight: index })) ?? [];
    expect(precisionReportPage({ ...run, history })).toContain("What counted");
    expect(pages["trained"]).not.toContain("What counted");
  });

  it("draws compared runs over each other, in place of its history", () => {
    const compared = { slow: run.history ?? [], fast: (run.history ?? []).slice(0, 5) };
    const page = precisionReportPage({ ...run, compared });
    expect(page).toMatch(/Loss: slow: from .* in 24 steps, fast: from .* in 5 steps/);
    expect(() => precisionReportPage({ ...run, compared: { none: [] } })).toThrow(
      /compared.* must be at most five lists of steps, by name/,
    );
  });

  it("cuts a bar of zeros that is too high, and says so", () => {
    const zeros = run.report.groups.map((group) => ({
      ...group,
      histogram: { ...group.histogram, zeros: 100_000 },
    }));
    const cut = precisionReportPage({ ...run, report: { ...run.report, groups: zeros } });
    expect(cut).toMatch(/The bar of zeros is cut: 9\d\.\d\u00a0% of the values are zero\./);
    expect(cut.split('aria-label="link"').length).toBeGreaterThan(3);
    const none = run.report.groups.map((group) => ({
      ...group,
      histogram: { ...group.histogram, zeros: 0 },
    }));
    const whole = precisionReportPage({ ...run, report: { ...run.report, groups: none } });
    expect(whole).not.toContain("The bar of zeros is cut");
  });

  it("compares a step compiled for a GPU in two precisions, and calls its times bounds", () => {
    const step = (precision: string, operands: readonly string[]) => ({
      ...{ precision, gpu: "NVIDIA H200", kernels: 1307, bytes: 3 * 2 ** 30 },
      memory: { arguments: 2 ** 20, temporary: 2 ** 21 },
      products: [
        { count: 3, operands, sum: "f32" },
        { count: 2, operands, sum: "f32" },
      ],
      ...{ bytesMs: 5.5, productsMs: 2, boundMs: 6 },
    });
    const compiled = [step("float32", ["f32", "f32"]), step("mixed_bfloat16", ["bf16", "bf16"])];
    const [, section = ""] = precisionReportPage({ ...few, compiled }).split('id="compiled"');
    expect(section.match(/<th .*?<\/th>/g)?.join()).toMatch(
      /float32, NVIDIA H200.*mixed_bfloat16, NVIDIA H200/,
    );
    expect(section).toMatch(/bytes moved<\/td><td class="">3 GiB/);
    expect(section).toContain("5 of bf16 by bf16, summed in f32");
    expect(section).toContain("has not been run there");
    expect(pages["few"]).not.toContain('id="compiled"');
  });

  it("is small, whole, and forbids itself to load anything", () => {
    for (const [name, text] of Object.entries(pages)) {
      expect([name, text.length < 1_000_000]).toEqual([name, true]);
      expect(text).not.toMatch(/https?:\/\/(?!www\.w3\.org\/)/);
      expect(text).toContain("default-src &#39;none&#39;");
    }
  });

  it("sums up every cause of skips, the most frequent first, each with what to do", () => {
    const [found] = run.skips.flatMap(({ overflow }) => (overflow === undefined ? [] : [overflow]));
    if (found === undefined) throw new Error("no skip was replayed");
    const of = (step: number, cause: typeof found.cause, remedy: string) => ({
      step,
      scale: 1,
      overflow: { ...found, cause, because: `because of ${cause}`, remedy },
    });
    const skips = [of(1, "model", "fix it"), of(2, "data", "check it"), of(3, "data", "check it too")];
    const page = precisionReportPage({ ...run, skips });
    expect(page).toMatch(
      /<b>data<\/b>, 2 steps: because of data\. To do: check it\.<\/li><li><b>model<\/b>, 1 step: because of model\. To do: fix it\./,
    );
  });

  it("tells of each skipped step what its replay found", () => {
    const skips = run.skips.filter(({ overflow }) => overflow !== undefined);
    expect(skips.length).toBeGreaterThan(0);
    for (const { overflow } of skips) expect(pages["trained"]).toContain(`<b>${overflow?.cause}</b>`);
    const [first] = skips;
    const [, rows = ""] = (pages["trained"] ?? "").split('aria-label="Skipped steps"');
    expect(rows.split("</table>")[0]).toContain(`>${first?.overflow?.op}</td>`);
    expect(pages["trained"]).toContain(`<span>step ${first?.step}</span>`);
    expect(pages["empty"]).toContain("No step was skipped");
  });

  it("lists the optimizer's state, what has lost most first, and its memory beside that in float32", () => {
    const { optimizer, memory } = few.report;
    const [, rows = ""] = (pages["few"] ?? "").split('aria-label="Optimizer state"');
    const [, ...cells] = [...(rows.split("</table>")[0] ?? "").matchAll(/<tr>(.*?)<\/tr>/g)].map(
      ([, row = ""]) => [...row.matchAll(/<td.*?>(.*?)<\/td>/g)].map(([, cell]) => cell),
    );
    expect(cells.map(([, slot, format]) => [slot, format])).toEqual(
      optimizer.tensors.map(({ slot, format }) => [slot, format]),
    );
    const [worst] = optimizer.tensors;
    expect(worst).toMatchObject({ slot: "square", format: "f16" });
    expect(Number(worst?.zero) + Number(worst?.subnormal)).toBeGreaterThan(0.1);
    // 1 024 of the means have codes of a byte and a scale for each 256; second moments have two bytes.
    const weights = 512 + 1024 + 128;
    expect(memory.kinds.optimizer).toBe(128 * 4 + 512 * 4 + (1024 + 4 * 4) + 2 * weights);
    expect(memory.optimizerInF32).toBe(8 * weights);
    expect(pages["few"]).toContain("optimizer state 6.77 KiB, the same in f32 13 KiB");
    expect(pages["trained"]).not.toContain("the same in f32");
  });

  it("says that it has one rank's share, and has no section where the optimizer keeps nothing", () => {
    const pageOf = (optimizer: Partial<ReportedRun["report"]["optimizer"]>) =>
      precisionReportPage({
        ...few,
        report: { ...few.report, optimizer: { ...few.report.optimizer, ...optimizer } },
      });
    expect(pageOf({ isShare: true })).toContain("the share of this one: 6 tensors");
    expect(pageOf({})).not.toContain("the share of this one");
    expect(pageOf({ tensors: [] })).not.toContain("What the optimizer keeps");
  });

  it("gives the recommended scale, and the shares at each in a table", () => {
    const recommendedScale = Number(run.report.gradients.recommendedScale);
    expect(pages["trained"]).toContain(`(${recommendedScale.toLocaleString("en")})`);
    const rows = (pages["trained"] ?? "").split('aria-label="Shares by scale"')[1]?.split("</table>")[0];
    expect(rows?.match(/<tr>/g)).toHaveLength(26);
  });

  it("says that no loss scale fits, and what to do, instead of recommending one", () => {
    const { gradients } = run.report;
    const beyond = { kind: "activations", layer: "head", dtype: "f16" } as const;
    const wide = { ...gradients.histogram, first: -90, counts: [1, ...new Array<number>(89).fill(0), 1] };
    const unfit = {
      "the activations of head reach numbers beyond 65504": {
        gradients: { ...gradients, recommendedScale: null, beyond },
      },
      "at 2.+ is finite, <b>50.+</b> of the gradients are still 0": {
        gradients: { ...gradients, histogram: wide },
      },
    };
    for (const [why, change] of Object.entries(unfit)) {
      const page = precisionReportPage({ ...run, report: { ...run.report, ...change } });
      expect(page).toMatch(new RegExp(`No loss scale fits</b> float16: .*${why}.+ use bfloat16`));
      expect(page).toContain("no scale fits");
      expect(page).not.toMatch(/recommended/i);
    }
    const fitting = precisionReportPage({
      ...run,
      report: { ...run.report, gradients: { ...gradients, recommendedScale: 2 ** -5 } },
    });
    expect(fitting).toMatch(/Recommended loss scale/);
    expect(fitting).not.toMatch(/no (loss )?scale fits/i);
  });
});

function recipeRows(page: string): readonly (readonly (string | undefined)[])[] {
  const [, table = ""] = page.split('aria-label="Operands of products by recipe"');
  return [...(table.split("</table>")[0] ?? "").matchAll(/<tr>(.*?)<\/tr>/gs)].map(([, row = ""]) =>
    [...row.matchAll(/<t[dh].*?>(.*?)<\/t[dh]>/g)].map(([, cell]) => cell),
  );
}

it("shows what each recipe does to the operands of products, and which they survive", () => {
  const rows = recipeRows(pages["trained"] ?? "");
  const [float8, nvfp4] = run.report.recipes.map(({ products }) => products[0]?.quantized?.operands);
  expect(rows.map(([layer, operand]) => [layer, operand])).toEqual([
    ["layer", "operand"],
    ["encoder/second", "input of MatMul"],
    ["encoder/second", "weight of MatMul"],
    ["encoder/second", "gradient of MatMul"],
  ]);
  for (const [index, [, , amax, flushed, saturated, coarse, , survived]] of rows.slice(1).entries()) {
    const [own, other] = [float8?.[index]?.statistics, nvfp4?.[index]?.statistics];
    expect(amax).toBe(significant(own?.amax ?? -1));
    expect([flushed, saturated]).toEqual([own?.underflows ?? -1, own?.overflows ?? -1].map(percent));
    expect(coarse).toBe(percent(other?.underflows ?? -1));
    const kept = [own, other].map((each) => (each?.underflows ?? 1) + (each?.overflows ?? 1) <= 0.1);
    expect(survived).toBe(["float8", "nvfp4"].filter((_, at) => kept[at]).join(", ") || "none");
  }
});

it("leaves blank what a recipe does not quantize, and leaves out what none does", () => {
  const { title, report } = run;
  const [first, second] = report.recipes as readonly [RecipeReport, RecipeReport];
  const products = first.products.map(({ quantized, ...rest }) => {
    const operands = quantized?.operands.map(({ statistics: own, ...each }) =>
      each.role === "gradient" || own === undefined ? each : { ...each, statistics: own },
    );
    return { ...rest, quantized: { because: "", operands: operands ?? [] } };
  });
  const recipes = [
    { ...first, products },
    { ...second, products: [] },
  ];
  const rows = recipeRows(precisionReportPage({ title, report: { ...report, recipes } })).slice(1);
  expect(rows.map(([, operand]) => operand)).toEqual(["input of MatMul", "weight of MatMul"]);
  for (const [, , , flushed, , coarse, saturated] of rows)
    expect([flushed?.endsWith("%"), coarse, saturated]).toEqual([true, "", ""]);
});

it("takes a report alone, and says what else is no run", () => {
  const { title, report } = run;
  const page = precisionReportPage({ title, report });
  expect(page).toContain('id="memory"');
  expect(page).not.toContain('id="training"');
  const refused: readonly (readonly [unknown, RegExp])[] = [
    [undefined, /^precisionReportPage: takes/],
    [report, /^precisionReportPage: /],
    [{ report }, /title must be a string, got undefined/],
    [{ title }, /report must be what precisionReport of a trainer gives, got undefined/],
    [{ title, report: {} }, /report must be what precisionReport/],
    [{ title, report, history: {} }, /history must be a list of steps/],
    [{ title, report, skips: "none" }, /skips must be a list of skipped steps, got "none"/],
    [{ title, report, facts: 7 }, /facts must be an object, got 7/],
    [{ title, report, date: "today" }, /date must be a Date, got "today"/],
    [{ title, report, losses: [] }, /losses/],
  ];
  for (const [given, message] of refused)
    expect(() => precisionReportPage(given as ReportedRun), String(message)).toThrow(
      expect.objectContaining({ code: "MP_INVALID_ARGUMENT", message: expect.stringMatching(message) }),
    );
});
