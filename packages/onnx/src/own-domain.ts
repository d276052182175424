/** The domain of the ops that ONNX lacks. */
export const OWN_DOMAIN = "mp";
export const OWN_VERSION = 1;
