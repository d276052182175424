export { fraction, part, randomOf, seed } from "../../../safetensors/test/soak/size.js";

/** Engines that train: those that are built. Core's own tests have the oracle alone. */
export const backends: readonly string[] = (process.env["MP_SOAK_BACKENDS"] ?? "reference").split(",");
