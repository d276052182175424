import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fromBinary } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { EventSchema } from "../src/proto/event_pb.js";
import { recordsIn } from "../src/tensor-board/records.js";

const STEPS = 90;
/** Steps that a process makes before it is killed. */
const KILLS = [3, 11, 12, 26];
/** One validation every third step. */
const VALIDATIONS = STEPS / 3;

/** Trains in a child process, and kills it by SIGKILL, which it cannot catch, after `killAfter` steps of its own. */
function train(folder: string, killAfter = Number.POSITIVE_INFINITY): Promise<number | null> {
  const given = ["test/logging-child.mjs", folder, String(STEPS), String(killAfter)];
  const child = spawn(process.execPath, given, { stdio: ["ignore", "pipe", "inherit"] });
  let made = 0;
  child.stdout.on("data", (chunk) => {
    made += String(chunk).split("\n").length - 1;
    if (made >= killAfter) child.kill("SIGKILL");
  });
  return new Promise((done) => child.on("close", done));
}

const stepsOf = (lines: readonly string[], event: string) =>
  lines.filter((line) => line.startsWith(`${event},`)).map((line) => Number(line.split(",")[1]));

it("leaves readable logs when it is killed, and each step once when it is resumed", async () => {
  const folder = await mkdtemp(join(tmpdir(), "mp-killed-"));
  try {
    for (const kill of KILLS) {
      expect(await train(folder, kill)).toBeNull();
      const csv = await readFile(join(folder, "log.csv"), "utf8");
      expect(csv.startsWith("event,step,epoch,")).toBe(true);
      expect(csv.endsWith("\n")).toBe(true);
      const lines = (await readFile(join(folder, "log.jsonl"), "utf8")).trimEnd().split("\n");
      for (const line of lines) expect(JSON.parse(line)).toHaveProperty("loss");
    }
    expect(await train(folder)).toBe(0);
    const lines = (await readFile(join(folder, "log.csv"), "utf8")).trimEnd().split("\n");
    const [header = "", ...rows] = lines;
    const all = Array.from({ length: STEPS }, (_, index) => index + 1);
    expect(stepsOf(rows, "step")).toEqual(all);
    expect(stepsOf(rows, "validation")).toEqual(all.filter((step) => step % 3 === 0));
    expect(rows).toHaveLength(STEPS + VALIDATIONS);
    for (const row of rows) expect(row.split(",")).toHaveLength(header.split(",").length);
    const json = (await readFile(join(folder, "log.jsonl"), "utf8")).trimEnd().split("\n");
    const events = json.map((line) => JSON.parse(line) as { readonly event: string; readonly step: number });
    expect(events.map(({ event, step }) => `${event},${step}`)).toEqual(
      rows.map((row) => row.split(",", 2).join(",")),
    );
    const files = (await readdir(join(folder, "events"))).sort();
    expect(files).toHaveLength(KILLS.length + 1);
    for (const file of files) {
      const records = [...recordsIn(await readFile(join(folder, "events", file)))];
      expect(fromBinary(EventSchema, records[0] as Uint8Array).what.case).toBe("fileVersion");
      expect(records.length).toBeGreaterThan(2);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});
