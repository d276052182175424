/**
 * TensorFlow has two sets of CPU kernels, its own and oneDNN's, and uses the second by default only where the processor
 * has AVX-512. The two sets also fuse differently; both must give the oracle's results on every machine.
 */
import { suiteCases } from "@mp/conformance";
import { describeConformance } from "@mp/conformance/vitest";
import { tfjs } from "../../src/index.js";
import { withTensorFlow } from "./installed-tensorflow.js";

// TensorFlow reads this when it is loaded.
process.env["TF_ENABLE_ONEDNN_OPTS"] = "1";

const products =
  /^(fusion|large|summation)\/|^(op|gradient)\/(MatMul|Gemm|Conv|ConvTranspose|ConvWeightGradient)-/;

await withTensorFlow((tf) =>
  describeConformance({
    factory: () => tfjs({ tf }),
    cases: suiteCases.filter(({ id }) => products.test(id)),
  }),
);
