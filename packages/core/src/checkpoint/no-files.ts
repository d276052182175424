// `#checkpoint-files` where there is no Node.
import { MpError } from "@mp/graph";
import type * as files from "./files.js";

const refuse = (what: string): never => {
  throw new MpError(
    "MP_UNSUPPORTED",
    `${what}: a path needs Node; use saveBytes() and loadBytes(), and store the bytes yourself`,
  );
};

export const checkPath: typeof files.checkPath = (what) => refuse(what);
export const prepareFile: typeof files.prepareFile = async () => refuse("prepareFile");
export const saveTensors: typeof files.saveTensors = async () => refuse("saveTensors");
export const loadTensors: typeof files.loadTensors = async () => refuse("loadTensors");
