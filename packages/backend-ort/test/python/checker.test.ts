// The files of exported models, read by onnx.checker.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { cases, exported, OPSETS } from "../exported-cases.js";
import { runPython } from "./python.js";

it.each(Object.entries(cases))("%s passes onnx.checker", (name, one) => {
  const folder = mkdtempSync(join(tmpdir(), "mp-checker-"));
  try {
    const dtypes = ["f32", ...(one.isLoop ? [] : ["f16" as const]), "bf16"] as const;
    const files = dtypes.flatMap((dtype) =>
      [...OPSETS, 23].map((opset) => {
        writeFileSync(join(folder, `${dtype}-${opset}.onnx`), exported(one, dtype, opset));
        return `${dtype}-${opset}.onnx`;
      }),
    );
    const check =
      "import onnx, sys\nfor f in sys.argv[1:]: onnx.checker.check_model(f, full_check=True); print(f)";
    expect(
      runPython(check, folder, ...files)
        .trim()
        .split("\n"),
      name,
    ).toEqual(files);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
