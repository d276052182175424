import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, it } from "vitest";
import type { Diagnosis } from "../src/index.js";

const here = fileURLToPath(new URL("..", import.meta.url));
const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

/** A user's folder; packages are links into this checkout, or files by path. */
function folder(links: Readonly<Record<string, string>> = {}, files: Readonly<Record<string, string>> = {}) {
  const made = mkdtempSync(join(tmpdir(), "mp-doctor-"));
  folders.push(made);
  for (const [name, target] of Object.entries(links)) {
    mkdirSync(dirname(join(made, "node_modules", name)), { recursive: true });
    symlinkSync(target, join(made, "node_modules", name), "junction");
  }
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(made, path)), { recursive: true });
    writeFileSync(join(made, path), text);
  }
  return made;
}

function doctor(cwd: string, args: readonly string[] = [], nodeOptions = "") {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(here, "bin/mp-doctor.js"), ...args], {
    cwd,
    encoding: "utf8",
    env: { ...process.env, NODE_OPTIONS: nodeOptions },
  });
  return { status, stdout, stderr };
}

/** A step takes a second or two, on a busy machine perhaps longer than the command waits by itself. */
const PATIENT = ["--limit", "600"];

const diagnosisIn = (text: string) => JSON.parse(text) as Diagnosis;
const statusOf = ({ findings }: Diagnosis, about: string) =>
  findings.find((finding) => finding.about === about)?.status;

/** A flag of Node that makes the program see another version of Node. */
const asNode = (version: string) =>
  `--import "data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'${version}'}})"`;

it("a bare machine: what is missing, what installs it, exit status 1", () => {
  const { status, stdout } = doctor(folder(), PATIENT);
  expect(status).toBe(1);
  expect(stdout).toMatch(/^missing +ONNX Runtime .*\n.*→ .*npm install @mp\/core @mp\/backend-ort/m);
  expect(stdout).toMatch(/^missing +TensorFlow .*\n.*→ npm install/m);
  expect(stdout).toMatch(/^missing +OpenVINO .*\n.*→ npm install .* && npx --no mp-libopenvino$/m);
  expect(stdout).toMatch(/^missing +XLA .*\n.*→ npm install .* && npx --no mp-libxla install cuda13$/m);
  expect(stdout).toMatch(/^ok +step on the reference/m);
  expect(stdout).toMatch(/Not ready: no engine is installed/);
});

it("with ONNX Runtime: a step, exit status 0", () => {
  const { status, stdout } = doctor(here, [...PATIENT, "--json"]);
  const diagnosis = diagnosisIn(stdout);
  expect(diagnosis.findings.filter(({ status }) => status === "problem")).toEqual([]);
  expect([status, diagnosis.healthy]).toEqual([0, true]);
  expect(statusOf(diagnosis, "step on ONNX Runtime (cpu)")).toBe("ok");
  // Not every machine has a GPU.
  expect(statusOf(diagnosis, "step on ONNX Runtime (webgpu)")).toMatch(/^(ok|missing)$/);
});

it("an engine that crashes is a line, and does not take the report with it", () => {
  const broken = folder(
    { "@mp/core": join(here, "../core"), "@mp/graph": join(here, "../graph") },
    {
      "node_modules/@mp/backend-ort/package.json":
        '{ "name": "@mp/backend-ort", "version": "9.9.9", "type": "module", "exports": "./index.js" }',
      "node_modules/@mp/backend-ort/index.js": "export const ort = () => process.abort();",
      "node_modules/onnxruntime-node/package.json": '{ "name": "onnxruntime-node", "version": "1.30.0" }',
    },
  );
  const { status, stdout } = doctor(broken, PATIENT);
  expect(status).toBe(1);
  expect(stdout).toMatch(/^ok +ONNX Runtime +@mp\/backend-ort 9.9.9, onnxruntime-node 1.30.0$/m);
  expect(stdout).toMatch(/^problem +step on ONNX Runtime \(cpu\) +the process crashed \(signal SIGABRT\)/m);
  expect(stdout).toMatch(/Not ready: 2 problems\./);
});

it("a Node that is too old, and one that is too new", () => {
  const old = doctor(folder(), ["--json"], asNode("18.20.0"));
  expect([old.status, diagnosisIn(old.stdout).findings.map(({ about }) => about)]).toEqual([1, ["Node"]]);
  const tfjs = folder(
    {},
    { "node_modules/@tensorflow/tfjs-node/package.json": '{ "name": "x", "version": "4.22.0" }' },
  );
  const diagnosis = diagnosisIn(doctor(tfjs, ["--json"], asNode("31.0.0")).stdout);
  expect(statusOf(diagnosis, "Node")).toBe("note");
  expect(statusOf(diagnosis, "Node for @tensorflow/tfjs-node")).toBe("note");
});

it("wrong arguments are one line and exit status 2, a bad file one line and 1", () => {
  for (const args of [
    ["inspekt"],
    ["--limit", "0"],
    ["--nope"],
    ["inspect"],
    ["--all"],
    ["inspect", "a", "b"],
  ]) {
    const { status, stdout, stderr } = doctor(here, args);
    expect([status, stdout], args.join(" ")).toEqual([2, ""]);
    expect(stderr).toMatch(/^mp-doctor: .*; --help explains\n$/);
  }
  expect(doctor(here, ["inspect", "package.json"])).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/^mp-doctor: .* \[MP_PARSE\]\n$/) as string,
  });
  expect(doctor(here, ["--help"])).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/^Usage: npx/) as string,
  });
});
