import { describeDecoder } from "../../../language-models/test/decoder-on-engine.js";
import { openvino } from "../../src/index.js";

describeDecoder(() => openvino(), ["f32", "bf16", "int8", "nf4"]);
