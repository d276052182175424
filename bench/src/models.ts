/**
 * `node dist/models.js FOLDER [model …] [--backend ort,tfjs,openvino] [--write]`: compares PyTorch with the
 * models that `peers/onnx_models.py` exported into that folder: forward within 1e-4, the losses of five steps within
 * 1e-4 in float32 and 1e-2 in mixed_float16. Also writes them again with `exportOnnx` and runs the files in plain
 * onnxruntime-node. `--write` puts the table into docs/onnx-models.md. Fails if a difference exceeds its limit.
 */
import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { MpError } from "@mp/core";
import { engineVersions, openEngine } from "./engine.js";
import { ENGINES } from "./job.js";
import { thisMachine } from "./machine.js";
import { compareModel } from "./models/compare-model.js";
import { MODELS, readExportedModel } from "./models/exported.js";
import { roundTrip } from "./models/round-trip.js";
import { isWithin, isWrittenWithin, page, type Row, type WrittenRow } from "./models/table.js";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    backend: { type: "string", default: "ort,tfjs" },
    write: { type: "boolean", default: false },
  },
});
const [folder = "", ...names] = positionals;
const chosen = names.length === 0 ? MODELS : MODELS.filter((name) => names.includes(name));
const rows: Row[] = [];
const writtenRows: WrittenRow[] = [];
const fails = (what: string): void => {
  console.log(`beyond a limit: ${what}`);
  process.exitCode = 1;
};
const versions: Record<string, string> = {};
for (const engine of ENGINES.filter((name) => values.backend.split(",").includes(name))) {
  const backend = await openEngine({ engine, threads: 1, device: "cpu" });
  Object.assign(versions, engineVersions(backend));
  for (const model of chosen) {
    const exported = await readExportedModel(folder, model);
    const found = await compareModel(backend, exported).catch((error: unknown) => {
      if (!MpError.is(error)) throw error;
      // Removes the line of the caller, which is always this file.
      return error.message.replace(/ \(at [^)]*\)$/, "");
    });
    rows.push({ model, engine: backend.manifest.engine.name, exported, found });
    console.log(model, engine, JSON.stringify(found));
    if (engine !== "ort") continue;
    const written: WrittenRow = { model, found: await roundTrip(backend, exported) };
    writtenRows.push(written);
    console.log(model, "out again", JSON.stringify(written.found));
    if (!isWrittenWithin(written)) fails(`${model} out again`);
  }
  await backend.dispose();
}
const sorted = rows.sort((a, b) => MODELS.indexOf(a.model) - MODELS.indexOf(b.model));
const beyond = sorted.filter((row) => !isWithin(row));
for (const { model, engine } of beyond) fails(`${model} on ${engine}`);
if (values.write) {
  const { node: _, ...engines } = versions;
  const written = page(sorted, writtenRows, {
    date: new Date().toISOString().slice(0, 10),
    machine: thisMachine(),
    versions: Object.entries(engines)
      .map(([name, version]) => `${name} ${version}`)
      .join(", "),
  });
  await writeFile(new URL("../../docs/onnx-models.md", import.meta.url), written);
}
