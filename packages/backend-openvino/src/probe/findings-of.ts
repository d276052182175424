import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { cacheFolder } from "@mp/libopenvino";
import type { Findings } from "@mp/onnx-lowering";
import { probeEngine } from "@mp/onnx-lowering/probe";
import type { NativeRuntime } from "../native/index.js";
import { keepValue, keptValue } from "./kept-value.js";
import { probedEngine } from "./probed-engine.js";

/** By library: an engine does not change while a process runs. */
const known = new WeakMap<NativeRuntime["library"], Promise<Findings>>();

/**
 * Probes the engine's kernels: once for a library, a processor and a release of these packages, since the findings are kept
 * in the user's cache.
 */
export function findingsOf(runtime: NativeRuntime): Promise<Findings> {
  const { library } = runtime;
  const findings = known.get(library) ?? keptOrProbed(runtime);
  known.set(library, findings);
  // A failure belongs to the runtime that asked; the next one probes again.
  findings.catch(() => known.delete(library));
  return findings;
}

async function keptOrProbed(runtime: NativeRuntime): Promise<Findings> {
  const probing = probingCode();
  if (probing === undefined) return probeEngine(probedEngine(runtime));
  const { library, processor } = runtime;
  const name = digest(library.build, processor, probing.version);
  const path = join(cacheFolder(process.env), "findings", `${name.slice(0, 16)}.json`);
  const of = digest(name, probing.code);
  const kept = keptValue(path, of);
  if (kept !== undefined) return kept as Findings;
  const findings = await probeEngine(probedEngine(runtime));
  keepValue(path, of, findings);
  return findings;
}

const digest = (...parts: readonly string[]): string => {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(`${part.length} ${part} `);
  return hash.digest("hex");
};

/** Entries that take part in probing. The parts that they share are in files named for their contents. */
const ENTRIES = ["@mp/core/probe", "@mp/core/graph", "@mp/onnx-lowering", "@mp/onnx-lowering/probe"];

/** The code that probes, so that findings of other code are not taken; undefined in a bundle, which has no such files. */
function probingCode(): { readonly version: string; readonly code: string } | undefined {
  const require = createRequire(import.meta.url);
  try {
    const files = ENTRIES.map((entry) => require.resolve(entry));
    const writer = createRequire(files.at(-1) as string).resolve("@mp/onnx/write");
    const { version } = require("@mp/onnx-lowering/package.json") as { version: string };
    return {
      version,
      code: digest(...[new URL(import.meta.url), ...files, writer].map((file) => readFileSync(file, "utf8"))),
    };
  } catch {
    return undefined;
  }
}
