import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { csvLog, jsonLinesLog, tensorBoard } from "../src/index.js";
import { batches, smallRun } from "./small-run.js";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "mp-logs-"));
});
afterAll(() => rm(folder, { recursive: true }));

describe("csvLog", () => {
  it("writes a row for each step and validation, with a header that grows once", async () => {
    const path = join(folder, "log.csv");
    const training = await smallRun();
    const losses: number[] = [];
    await training.fit(batches(2), {
      epochs: 2,
      validation: { data: batches(1, 7) },
      callbacks: [csvLog(path, { every: 2 }), { onStep: ({ loss }) => void losses.push(loss) }],
    });
    const [header = "", ...rows] = (await readFile(path, "utf8")).trimEnd().split("\n");
    expect(header).toBe(
      "event,step,epoch,milliseconds,loss,applied,scale,gradNorm,retries,error,rates/default",
    );
    expect(rows.map((row) => row.split(",").slice(0, 3).join(","))).toEqual([
      "step,2,0",
      "validation,2,0",
      "step,4,1",
      "validation,4,1",
    ]);
    expect(Number(rows[0]?.split(",")[4])).toBe(losses[1]);
    expect(rows[1]?.split(",")[3]).toBe("");
  });

  it("removes half a line, and begins again in a new run", async () => {
    const path = join(folder, "again.csv");
    await writeFile(path, "event,step,epoch,loss\nstep,1,0,2\nstep,2,0,0.");
    const training = await smallRun();
    await training.fit(batches(1), { callbacks: [csvLog(path)] });
    const rows = (await readFile(path, "utf8")).trimEnd().split("\n");
    expect(rows).toHaveLength(2);
    expect(rows[1]).toMatch(/^step,1,0,[0-9.]+,/);
    const next = await smallRun();
    await next.loadBytes(await training.saveBytes());
    await writeFile(path, `${rows.join("\n")}\nstep,2,1,3`);
    await next.fit(batches(1), { callbacks: [csvLog(path)] });
    const after = (await readFile(path, "utf8")).trimEnd().split("\n");
    expect(after.slice(0, 2)).toEqual(rows);
    expect(after).toHaveLength(3);
    expect(after[2]).toMatch(/^step,2,1,[0-9.]+,/);
  });
});

describe("jsonLinesLog", () => {
  it("writes numbers that are not finite as text", async () => {
    const path = join(folder, "log.jsonl");
    const training = await smallRun();
    const [one] = batches(1);
    const x = one?.x.data.slice().fill(3e38) as Float32Array<ArrayBuffer>;
    await training.fit([{ ...one, x: { ...one?.x, data: x } } as never], { callbacks: [jsonLinesLog(path)] });
    const line = JSON.parse(await readFile(path, "utf8"));
    expect(line).toMatchObject({ event: "step", step: 1, epoch: 0, applied: 0 });
    expect(["NaN", "Infinity"]).toContain(line.loss);
  });
});

it.each([
  ["csvLog", csvLog],
  ["jsonLinesLog", jsonLinesLog],
] as const)(
  "%s refuses a file with other content, which stays, and one that cannot be written",
  async (name, log) => {
    const path = join(folder, "foreign");
    await writeFile(path, "my notes\n");
    const training = await smallRun();
    const failing = training.fit(batches(1), { callbacks: [log(path)] });
    await expect(failing).rejects.toThrow(
      `${name}: ${path} has other content than such a log; name another file`,
    );
    await expect(failing).rejects.toMatchObject({ code: "MP_INVALID_ARGUMENT" });
    expect(await readFile(path, "utf8")).toBe("my notes\n");
    const lost = training.fit(batches(1), { callbacks: [log(join(path, "in a file"))] });
    await expect(lost).rejects.toMatchObject({ code: "MP_IO" });
    // A missing folder is made.
    await training.fit(batches(1), { callbacks: [log(join(folder, name, "new", "log"))] });
    expect(await readFile(join(folder, name, "new", "log"), "utf8")).not.toBe("");
    expect(() => log("", {})).toThrow(`${name}: path must be a path, got ""`);
    expect(() => log("x", { every: 0 })).toThrow(`${name}: every must be an integer ≥ 1, got 0`);
  },
);

it.each([
  ["csvLog", csvLog, "my only copy"],
  ["csvLog", csvLog, "event,step\n1,2\n"],
  ["jsonLinesLog", jsonLinesLog, "my only copy"],
  ["jsonLinesLog", jsonLinesLog, '{"step":1,"event":"lunch"}\n'],
] as const)("%s leaves a file alone that is no log: %#", async (name, log, content) => {
  const path = join(folder, "precious");
  await writeFile(path, content);
  const failing = (await smallRun()).fit(batches(1), { callbacks: [log(path)] });
  await expect(failing).rejects.toThrow(`${name}: ${path} has other content than such a log`);
  expect(await readFile(path, "utf8")).toBe(content);
});

it.each([
  ["csvLog", csvLog, "event,st"],
  ["jsonLinesLog", jsonLinesLog, '{"event":"step","st'],
] as const)("%s removes half of its first line", async (_name, log, content) => {
  const path = join(folder, "half");
  await writeFile(path, content);
  await (await smallRun()).fit(batches(1), { callbacks: [log(path)] });
  const lines = (await readFile(path, "utf8")).split("\n");
  expect(lines[0]).not.toBe(content);
  expect(lines.slice(0, -1).every((line) => line.length > content.length)).toBe(true);
});

it("refuses two logs in one file at a time", async () => {
  const path = join(folder, "shared.csv");
  const training = await smallRun();
  const failing = training.fit(batches(1), { callbacks: [csvLog(path), csvLog(path)] });
  await expect(failing).rejects.toThrow(
    `csvLog: another log of this process writes ${path}; name another file`,
  );
  await training.fit(batches(1), { callbacks: [csvLog(path)] });
  expect((await readFile(path, "utf8")).trimEnd().split("\n")).toHaveLength(2);
});

it("tensorBoard refuses a folder that is a file, and options that it does not know", async () => {
  const path = join(folder, "a-file");
  await writeFile(path, "");
  const failing = (await smallRun()).fit(batches(1), { callbacks: [tensorBoard(path)] });
  await expect(failing).rejects.toMatchObject({ code: "MP_IO" });
  expect(() => tensorBoard("x", { text: { a: 1 } } as never)).toThrow(
    "tensorBoard: text must be an object of strings by tag, got",
  );
  expect(() => tensorBoard("x", { histograms: {} } as never)).toThrow(
    "tensorBoard: histograms: report must be a function, got undefined",
  );
});
