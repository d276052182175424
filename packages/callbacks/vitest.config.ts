import { preset } from "@mp/build/vitest";

// What TensorBoard's own reader reads: `npm test -- --python` installs it.
const isWithoutPython = process.env["MP_PYTHON"] === undefined;

export default preset(isWithoutPython ? { exclude: ["test/tensor-board.test.ts"] } : {});
