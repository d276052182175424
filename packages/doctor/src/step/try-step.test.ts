import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { stepFinding } from "./step-finding.js";
import type { StepTask } from "./step-task.js";
import { tryStep } from "./try-step.js";

const task: StepTask = { engine: "reference", device: "cpu", entry: "", core: "" };
let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "mp-step-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function findingOf(program: string, limitMs = 30_000) {
  const child = join(folder, "child.mjs");
  await writeFile(child, program);
  return stepFinding("step", await tryStep(task, { folder, limitMs, child }), {
    reinstall: "npm install it",
    isOptional: false,
  });
}
const made = (loss: number, rest = "") =>
  `process.send({ kind: "made", version: "1", native: [], precision: "float32", loss: ${loss}, expected: 1, applied: true, seconds: 0 }, () => { ${rest} process.exit(0); });`;

it("a step with the right loss is ok, one with another is a problem", async () => {
  expect((await findingOf(made(1.001))).status).toBe("ok");
  expect(await findingOf(made(1.5))).toMatchObject({
    status: "problem",
    text: "made with the loss 1.5 where 1 is right",
    remedy: "npm install it",
  });
  expect((await findingOf(made(Number.NaN))).status).toBe("problem");
});

it("a crash and a hang are lines of the report", async () => {
  const crash = await findingOf('console.error("corrupted"); process.kill(process.pid, "SIGSEGV");');
  expect(crash.text).toBe("the process crashed (signal SIGSEGV): corrupted");
  expect((await findingOf(made(1, 'process.kill(process.pid, "SIGABRT"); return;'))).text).toMatch(/SIGABRT/);
  expect((await findingOf("process.exit(3)")).text).toBe(
    "the process crashed (exit status 3, without an answer)",
  );
  expect(await findingOf("setInterval(() => {}, 1000); for (;;);", 1500)).toMatchObject({
    status: "problem",
    text: "no answer within 1.5 s",
  });
});

it("a refusal brings the command that it names", async () => {
  const refusal = { kind: "failed", code: "MP_BACKEND_UNAVAILABLE", message: "gone", install: "npm i gone" };
  expect(await findingOf(`process.send(${JSON.stringify(refusal)}, () => process.exit(0))`)).toMatchObject({
    status: "problem",
    text: "gone [MP_BACKEND_UNAVAILABLE]",
    remedy: "npm i gone",
  });
});

it("what a crashed or hung child has started is not waited for, and messages of an engine are no answers", async () => {
  const pidFile = join(folder, "pid");
  const start = `
    import { spawn } from "node:child_process";
    import { writeFileSync } from "node:fs";
    const hour = ["-e", "setTimeout(() => {}, 3600000)"];
    const started = spawn(process.execPath, hour, { stdio: ["ignore", "ignore", "inherit"], detached: true });
    started.unref();
    writeFileSync(${JSON.stringify(pidFile)}, String(started.pid));`;
  const crash = await findingOf(`${start} process.send("hello"); process.kill(process.pid, "SIGSEGV");`);
  expect(crash.text).toMatch(/^the process crashed \(signal SIGSEGV\)/);
  // The process that the child started still runs.
  process.kill(Number(await readFile(pidFile, "utf8")));
  await rm(pidFile);
  expect((await findingOf(`${start} setInterval(() => {}, 1000);`, 1500)).text).toBe(
    "no answer within 1.5 s",
  );
  // On a busy machine the limit may come before the child has started anything.
  const pid = await readFile(pidFile, "utf8").catch(() => undefined);
  if (pid !== undefined) process.kill(Number(pid));
  expect((await findingOf(made(1, "process.exit(7);"))).text).toBe(
    "the process crashed (exit status 7, without an answer)",
  );
  expect((await findingOf("throw new RangeError('later')")).text).toBe(
    "the process crashed (exit status 1, without an answer): RangeError: later",
  );
});

it("a device that a machine need not have is missing, and what is there of it may be broken", () => {
  const remedies = { reinstall: "npm install it", isOptional: true };
  const failed = (code: string) => ({ kind: "failed", code, message: "no GPU; install a driver" }) as const;
  expect(stepFinding("step", failed("MP_BACKEND_UNAVAILABLE"), remedies)).toMatchObject({
    status: "missing",
    text: "no GPU; install a driver",
  });
  expect(stepFinding("step", failed("MP_BACKEND_FAILED"), remedies).status).toBe("problem");
});
