// Detects files that Keras saves, which cannot be read as a model.json.
import { MpError } from "@mp/graph";
import { quote } from "../problem.js";

/** Whether a path has an extension of Keras. */
export const isKerasName = (path: string): boolean => /\.(keras|h5|hdf5)$/i.test(path);

/** Whether a text begins like a Keras file: `.keras` is a ZIP archive, `.h5` is HDF5 and begins with no text. */
export const isKerasText = (text: string): boolean =>
  text.startsWith("PK\u0003\u0004") || text.startsWith("HDF\r\n", 1);

/** Throws MP_UNSUPPORTED with the Python lines that convert the model. */
export function refuseKeras(path: string): never {
  const lines = [
    "pip install tensorflowjs",
    "python",
    "import keras, tensorflowjs",
    `model = keras.models.load_model(${quote(path)})`,
    'tensorflowjs.converters.save_keras_model(model, "model")',
  ];
  throw new MpError(
    "MP_UNSUPPORTED",
    `fromTfjs: ${quote(path)} is a file of Keras, not a model.json; convert it, then pass "model/model.json":\n  ${lines.join("\n  ")}`,
    { details: { path } },
  );
}
