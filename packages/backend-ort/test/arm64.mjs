/**
 * On a processor with kernels for float16, which the machines of these tests emulate (`npm test -- --arm64`): the
 * manifest's claims about sums match what sums of 5000 terms show, and the suite's groups of sums and casts pass.
 * Takes the path of ONNX Runtime's library.
 */
import { ort } from "@mp/backend-ort";
import { failuresOf, inSuite, runConformance, suiteCases } from "@mp/conformance";
import { trainingCases } from "@mp/conformance/training";
import { decode, encodeArray, GraphBuilder, tensor } from "@mp/graph";
import { accumulatorOf } from "@mp/graph/internal";

const [library] = process.argv.slice(2);
const started = performance.now();
const backend = await ort({ library });
const { manifest } = backend;
console.log(
  `${process.platform}/${process.arch}, ${manifest.engine.name} ${manifest.engine.version}, opened in ${((performance.now() - started) / 1000).toFixed(1)} s: ` +
    `f16 ${JSON.stringify(manifest.dtypes.f16)}, accumulate ${JSON.stringify(manifest.accumulate)}`,
);

const TERMS = 5000;
const row = { axes: [1], keepdims: false };
const window = { strides: [1, 1], pads: [0, 0, 0, 0], dilations: [1, 1], group: 1 };
const gemm = { transA: false, transB: false, alpha: 1, beta: 1 };
/**
 * Half of 5000; the share of one of 5000 equal logits; a number that is its row's mean. Accumulated in f16 all of them
 * stall.
 */
const sums = [
  [
    "MatMul",
    {},
    [
      [1, TERMS],
      [TERMS, 1],
    ],
    2500,
  ],
  [
    "Gemm",
    gemm,
    [
      [1, TERMS],
      [TERMS, 1],
    ],
    2500,
  ],
  [
    "Conv",
    window,
    [
      [1, TERMS, 1, 1],
      [1, TERMS, 1, 1],
    ],
    2500,
  ],
  ["ReduceSum", row, [[1, TERMS]], 2500],
  ["Softmax", { axis: 1 }, [[1, TERMS]], 1 / TERMS],
  ["LayerNormalization", { axis: 1, epsilon: 1e-5 }, [[1, TERMS], [TERMS]], 0],
];

/** The first result of an op whose first operand is all 0.5 and whose others are ones. */
async function resultOf(op, attributes, shapes) {
  const builder = new GraphBuilder();
  const inputs = {};
  const operands = shapes.map((shape, index) => {
    const size = shape.reduce((product, dimension) => product * dimension, 1);
    const numbers = new Float32Array(size).fill(index === 0 ? 0.5 : 1);
    inputs[`x${index}`] = tensor(encodeArray("f16", numbers), shape, "f16");
    return builder.input(`x${index}`, { dtype: "f16", shape }, "batch");
  });
  const [y] = builder.emit(op, operands, attributes);
  const executable = await backend.compile(builder.finish({ y }));
  const results = await executable.run(inputs);
  await executable.dispose();
  return decode("f16", results.y.data[0]);
}

let [passed, failed] = [0, 0];
for (const [op, attributes, shapes, want] of sums) {
  const got = await resultOf(op, attributes, shapes);
  const shown = Math.abs(got - want) <= Math.abs(want) / 1000 ? "f32" : "f16";
  const said = accumulatorOf(manifest, op, "f16");
  console.log(`${op}: ${TERMS} terms give ${got} for ${want}, the manifest says ${said}`);
  if (said === shown) passed++;
  else failed++;
}
await backend.dispose();

// There, too, bf16 is emulated: its cases compute in f32.
const groups = /^(summation|cast|autocast)\/(?!.*bf16)/;
const report = await runConformance({
  factory: () => ort({ library }),
  cases: [...suiteCases, ...inSuite(trainingCases)].filter(({ id }) => groups.test(id)),
  timeoutMs: 600_000,
});
const failures = failuresOf(report);
for (const failure of failures) console.log(failure);
passed += report.outcomes.length - report.counts.failed;
failed += failures.length;
console.log(`${((performance.now() - started) / 1000).toFixed(0)} s\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
