import { ortWeb } from "../../../src/index.js";
import { type PrecisionName, type Trained, train } from "../../train.js";

/** The global scope of a worker. */
declare const self: {
  onmessage: (message: { readonly data: PrecisionName }) => void;
  postMessage(message: Trained): void;
};

self.onmessage = async ({ data }) => self.postMessage(await train(await ortWeb(), data));
