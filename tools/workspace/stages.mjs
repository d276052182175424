/**
 * A run of named stages that ends with a line `<name>: N passed, N failed`, so that the caller can add the numbers up.
 * A stage is one check, or a suite with its own counts.
 */

/** @typedef {{ passed: number; failed: number }} Count */

/** @param {number} since */
const seconds = (since) => `${((performance.now() - since) / 1000).toFixed(1)} s`;

/**
 * @param {string} name
 * @param {readonly { name: string; run: () => boolean | Count | Promise<boolean | Count> }[]} stages
 * @returns {Promise<number>} exit code
 */
export async function runStages(name, stages) {
  const total = { passed: 0, failed: 0 };
  const lines = [];
  for (const stage of stages) {
    console.log(`\n── ${stage.name}`);
    const start = performance.now();
    const result = await stage.run();
    const count = typeof result === "boolean" ? { passed: Number(result), failed: Number(!result) } : result;
    total.passed += count.passed;
    total.failed += count.failed;
    const line = `${count.failed === 0 ? "ok  " : "FAIL"} ${stage.name} (${count.passed} passed, ${count.failed} failed) ${seconds(start)}`;
    console.log(line);
    lines.push(line);
  }
  console.log(`\n${lines.join("\n")}\n${name}: ${total.passed} passed, ${total.failed} failed`);
  return total.failed === 0 ? 0 : 1;
}
