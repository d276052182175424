import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const demo = fileURLToPath(new URL("demo.mjs", import.meta.url));

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "mp-cli-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function run(...flags: string[]): { code: number | null; out: string; err: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [demo, ...flags], { encoding: "utf8" });
  return { code: status, out: stdout, err: stderr };
}

/** Code that replaces the demo's clock at the first signal: by one that stops, or that advances 1 s per signal. */
const [STILL, ONWARD] = [0, 1000].map(
  (leap) => `
    let [at, now] = [0, performance.now.bind(performance)];
    process.on("SIGINT", () => {
      at = (at || now()) + ${leap};
      performance.now = () => at;
    });`,
);

/** Starts the demo and resolves once it has reported a step. */
async function started(
  clock = "",
  ...flags: string[]
): Promise<{
  readonly child: ChildProcess;
  readonly ended: Promise<{ code: number | null; err: string }>;
  readonly said: (text: string) => Promise<void>;
}> {
  const preload = `data:text/javascript,${encodeURIComponent(clock)}`;
  const child = spawn(process.execPath, ["--import", preload, demo, ...flags]);
  let err = "";
  const ended = new Promise<{ code: number | null; err: string }>((resolve) => {
    child.on("close", (code) => resolve({ code, err }));
  });
  child.stderr.on("data", (chunk) => {
    err += String(chunk);
  });
  const said = async (text: string): Promise<void> => {
    while (!err.includes(text)) {
      const more = await Promise.race([once(child.stderr, "data"), ended]);
      if (!Array.isArray(more) && !err.includes(text)) throw new Error(`never said "${text}": ${err}`);
    }
  };
  await said("step");
  return { child, ended, said };
}

describe("an app", () => {
  it("reports on standard error and prints its result on standard output", () => {
    const { code, out, err } = run();
    expect(code).toBe(0);
    expect(out).toContain("perplexity             12.346");
    expect(out).toContain("GFLOP/s                not measured");
    expect(out).not.toContain("step ");
    expect(err).toContain("demo: step 20/20, loss 0.0500, scale 2^16, skipped 1");
    expect(err).not.toContain("\u001B");
  });

  it("shows its help and exits 0", () => {
    const { code, out, err } = run("--help");
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatchInlineSnapshot(`
      "Usage: demo [flags]

      Pretends to train

      Flags of this app:
        --step-ms <N>                  milliseconds a step takes (default: 1)
        --slow-from <N>                from this step on, one takes an hour (default:
                                       1000000)
        --fail <CODE>                  fail at step 3, or before with early-CODE

      Flags of all apps:
        --backend <NAME>               the engine that runs the training step: ort,
                                       tfjs, openvino, xla, reference (default: ort)
        --device <cpu|cuda|webgpu>     where it runs; webgpu is any GPU, on ort
                                       (default: cpu)
        --precision <NAME>             mixed is what the engine computes natively, the
                                       last four are emulated: mixed, float32,
                                       mixed_float16, mixed_bfloat16, float16,
                                       bfloat16, float8, mxfp8, mxfp4, nvfp4 (default:
                                       mixed)
        --loss-scale <none|dynamic|S>  how the loss is scaled; without it, as the
                                       precision needs
        --initial-scale <X>            first scale of the dynamic loss scale
        --master-weights <NAME>        how parameters are kept and updated: f32, none,
                                       kahan, stochastic (default: f32)
        --on-overflow <skip|retry>     skip the batch, or retry it at a lower scale
                                       (default: skip)
        --accumulate <N>               microbatches per step (default: 1)
        --checkpointing                recompute activations in the backward pass, for
                                       less memory
        --steps <N>                    training steps, counted from the very start
                                       (default: 20)
        --seed <N>                     of initial values, dropout and shuffling
                                       (default: 42)
        --data <DIR>                   read the real files there; without it, small
                                       data that needs none
        --compare                      run float32 and the precision from the same
                                       start, side by side
        --save <FILE>                  save the state there, every 100 steps and at
                                       the end
        --resume <FILE>                go on from a saved state
        --json <FILE>                  write the result there as JSON
        --report <FILE>                write the precision report there, one HTML page
        --log <DIR>                    write event files there, for TensorBoard
        -h, --help                     show this
      "
    `);
  });

  it.each([
    [["--stepps", "3"], "unknown option '--stepps' (Did you mean --steps?)"],
    [["--steps"], "option '--steps <N>' argument missing"],
    [["--steps", "0"], "option '--steps <N>' argument '0' is invalid. expected an integer ≥ 1"],
    [["--steps", "2.5"], "argument '2.5' is invalid"],
    [["--steps", ""], "argument '' is invalid"],
    [["--accumulate", "65537"], "expected an integer from 1 to 65536"],
    [["--precision", "fp16"], "expected one of mixed, float32, mixed_float16"],
    [["--loss-scale", "-8"], "expected none, dynamic or a number above 0"],
    [
      ["--loss-scale", "8", "--initial-scale", "4"],
      "--initial-scale 4: belongs to --loss-scale dynamic, not to 8",
    ],
    [["extra"], "too many arguments"],
    [["--data", "/no/such/dir"], "--data /no/such/dir: no such directory"],
    [["--resume", "/no/such/file"], "--resume /no/such/file: no such file"],
    [["--json", "/no/such/dir/x.json"], "--json /no/such/dir/x.json: no such directory, /no/such/dir"],
    [["--save", "/"], "--save /: is a directory, name a file"],
    [
      ["--save", "/tmp/x.st", "--json", "/tmp/x.st"],
      "--json /tmp/x.st: is where --save is too, name another file",
    ],
    [["--report", "/no/such/dir/x.html"], "--report /no/such/dir/x.html: no such directory, /no/such/dir"],
  ])("refuses %j in one line with exit code 2", (flags, message) => {
    const { code, out, err } = run(...flags);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain(message);
    expect(err).toMatch(/^demo: .*; --help lists the flags\n$/);
  });

  it.each([
    ["early-MP_IO", 2, "demo: it went wrong (MP_IO)"],
    ["early-MP_INVALID_ARGUMENT", 2, "demo: it went wrong (MP_INVALID_ARGUMENT)"],
    ["early-MP_BACKEND_UNAVAILABLE", 1, "demo: it went wrong (MP_BACKEND_UNAVAILABLE)"],
    ["MP_IO", 1, "demo: it went wrong (MP_IO)"],
    ["MP_NON_FINITE", 1, "demo: it went wrong (MP_NON_FINITE)"],
    ["plain", 1, "TypeError: a bug"],
  ])("that fails with %s exits %i", (failure, expected, message) => {
    const { code, err } = run("--fail", failure);
    expect(code).toBe(expected);
    expect(err).toContain(message);
    expect(err.split("\n").some((line) => line.startsWith("    at "))).toBe(failure === "plain");
  });

  it("writes its result whole, with what was not measured as null and NaN spelled out", () => {
    const file = join(folder, "result.json");
    expect(run("--json", file, "--loss-scale", "256", "--seed", "7").code).toBe(0);
    const result = JSON.parse(readFileSync(file, "utf8"));
    expect(Object.keys(result)).toEqual(
      "app backend device engine precision lossScale masterWeights seed steps applied skipped finalScale loss metric msPerStep flopsPerSecond peakMemoryBytes emulated".split(
        " ",
      ),
    );
    expect(result).toMatchObject({ lossScale: 256, seed: 7, flopsPerSecond: null, steps: 20 });
    expect(result.loss[6]).toBe("NaN");
    expect(readdirSync(folder)).toEqual(["result.json"]);
  });

  it.skipIf(!existsSync("/dev/full"))("prints its result also where it cannot be written", () => {
    const { code, out, err } = run("--json", "/dev/full");
    expect([code, out.includes("perplexity             12.346")]).toEqual([1, true]);
    expect(err.split("\n").filter((line) => line.includes("--json /dev/full: "))).toHaveLength(1);
    expect(err).toContain("ENOSPC");
    expect(err).not.toContain("    at ");
  });

  it("writes and prints both runs with --compare", () => {
    const file = join(folder, "result.json");
    const { out } = run("--compare", "--json", file, "--precision", "mixed_float16");
    const result = JSON.parse(readFileSync(file, "utf8"));
    expect(Object.keys(result)).toEqual(["float32", "mixed", "speedup", "memoryRatio"]);
    expect([result.float32.precision, result.mixed.precision]).toEqual(["float32", "mixed_float16"]);
    expect([result.speedup, result.memoryRatio]).toEqual([2, 1]);
    expect(out).toMatch(/float32\s+mixed_float16\n/);
    expect(out).toContain("speed-up 2.00×, memory 1.00×");
  });

  it("stops at Ctrl-C after the step, with the state saved, and goes on from it", async () => {
    const file = join(folder, "state");
    const { child, ended } = await started(STILL, "--steps", "5000", "--step-ms", "5", "--save", file);
    child.kill("SIGINT");
    // A parent that forwards the signal delivers it again immediately; that still counts as one key press.
    child.kill("SIGINT");
    const { code, err } = await ended;
    expect(code).toBe(130);
    expect(err).toContain("SIGINT: stopping after this step; once more to stop at once");
    const step = Number(readFileSync(file, "utf8"));
    expect(step).toBeGreaterThan(0);
    expect(step).toBeLessThan(5000);
    const resumed = run("--steps", String(step + 2), "--resume", file, "--json", join(folder, "r.json"));
    expect(resumed.code).toBe(0);
    expect(JSON.parse(readFileSync(join(folder, "r.json"), "utf8")).loss).toHaveLength(2);
  });

  it("stops at once at the second Ctrl-C", async () => {
    const file = join(folder, "state");
    const { child, ended, said } = await started(ONWARD, "--steps", "3", "--slow-from", "1", "--save", file);
    child.kill("SIGINT");
    await said("once more to stop at once");
    child.kill("SIGINT");
    // The current step would take an hour.
    expect((await ended).code).toBe(130);
    expect(existsSync(file)).toBe(false);
  });

  it("ends with 143 at SIGTERM, saved as well", async () => {
    const file = join(folder, "state");
    const { child, ended } = await started("", "--steps", "5000", "--step-ms", "5", "--save", file);
    child.kill("SIGTERM");
    expect((await ended).code).toBe(143);
    expect(existsSync(file)).toBe(true);
  });

  it("does not mind a reader that leaves", () => {
    writeFileSync(join(folder, "go"), "");
    const script = `"${process.execPath}" "${demo}" 2>"${join(folder, "err")}" | true; echo "\${PIPESTATUS[0]}"`;
    expect(execFileSync("bash", ["-c", script], { encoding: "utf8" })).toBe("0\n");
    expect(readFileSync(join(folder, "err"), "utf8")).not.toContain("EPIPE");
  });
});
