import type { Backend } from "@mp/graph";
import { type XlaOptions, xla } from "../../src/index.js";

/** The CPU plugin, which `node tools/run.mjs xla-cpu` fetches. */
export const PLUGIN: string = process.env["MP_XLA_PLUGIN"] ?? "";

export const open = (options: XlaOptions = {}): Promise<Backend> => xla({ device: "cpu", ...options });
