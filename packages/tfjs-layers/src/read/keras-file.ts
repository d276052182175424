// What Keras itself saves, which is not a model.json.
import { MpError } from "@mp/graph";
import { quote } from "../problem.js";

/** Whether a file's name is that of one that Keras saves. */
export const isKerasName = (path: string): boolean => /\.(keras|h5|hdf5)$/i.test(path);

/** Whether a file begins as such a one: `.keras` is a ZIP archive, `.h5` is HDF5, whose first byte is no text. */
export const isKerasText = (text: string): boolean =>
  text.startsWith("PK\u0003\u0004") || text.startsWith("HDF\r\n", 1);

/** @throws MP_UNSUPPORTED with the lines that convert the model */
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
