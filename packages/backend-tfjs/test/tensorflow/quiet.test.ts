import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { withTensorFlow } from "./installed-tensorflow.js";

// The built package, so it must be built.
const entry = new URL("../../dist/index.js", import.meta.url).href;
const program = `import { loadTfjsNode, tfjs } from ${JSON.stringify(entry)};
await (await tfjs({ tf: await loadTfjsNode() })).dispose();`;

await withTensorFlow(() => {
  const { TF_CPP_MIN_LOG_LEVEL: _, ...environment } = process.env;
  const remarks = (env: NodeJS.ProcessEnv): readonly string[] => {
    const options = { cwd: fileURLToPath(new URL("../..", import.meta.url)), env, encoding: "utf8" } as const;
    const { status, stderr } = spawnSync(
      process.execPath,
      ["--input-type=module", "--eval", program],
      options,
    );
    expect(status, stderr).toBe(0);
    return stderr.split("\n").filter((line) => /^I\d{4} /.test(line));
  };

  test("TensorFlow's remarks are not printed, unless the environment wants them", () => {
    const few = remarks(environment);
    // Lines that are printed before the level can be set.
    expect(few.filter((line) => !/port\.cc/.test(line))).toEqual([]);
    expect(few.length).toBeLessThanOrEqual(2);
    const all = remarks({ ...environment, TF_CPP_MIN_LOG_LEVEL: "0" });
    expect(all.length).toBeGreaterThan(few.length);
  });
});
