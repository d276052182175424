/**
 * TensorFlow has two sets of CPU kernels, its own and oneDNN's, and uses the second by default only where the processor
 * has AVX-512. The two sets also fuse differently; both must give the oracle's results on every machine. Half products
 * are not repeated dtype by dtype: where oneDNN has kernels for them, it is the default, and elsewhere they are computed
 * by the kernels of f32.
 */
import { describeCases } from "./suite-parts.js";

// TensorFlow reads this when it is loaded.
process.env["TF_ENABLE_ONEDNN_OPTS"] = "1";

const products = "(MatMul|Gemm|Einsum|Conv|ConvTranspose|ConvWeightGradient)";
const chosen = new RegExp(`^(fusion/|(op|gradient)/${products}-f32/|summation/${products}-(f32|bf16)/)`);

await describeCases((id) => chosen.test(id));
