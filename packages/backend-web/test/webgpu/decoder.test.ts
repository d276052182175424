import { beforeAll } from "vitest";
import { describeDecoder } from "../../../language-models/test/decoder-on-engine.js";
import { ortWeb } from "../../src/index.js";
import { installWebgpu } from "./dawn.js";

beforeAll(installWebgpu);

// WebGPU has no bfloat16, in which the other bases keep embeddings and norms.
describeDecoder(() => ortWeb(), ["f32"]);
