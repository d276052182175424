import { describeDecoder } from "../../../language-models/test/decoder-on-engine.js";
import { tfjs } from "../../src/index.js";
import { withTensorFlow } from "./installed-tensorflow.js";

await withTensorFlow((tf) => describeDecoder(async () => tfjs({ tf }), ["f32", "bf16", "int8", "nf4"]));
