/** `@mp/core/compat`: loss scalers of other frameworks and NNabla's updater. */

// Loss scalers of PyTorch, Keras, DeepSpeed and Megatron
export { scalerFrom, scalerStateTo, type ScaledTraining } from "../compat/convert-scaler.js";
export type {
  ScalerFramework,
  ScalerStates,
  PyTorchScalerState,
  KerasScalerState,
  DeepSpeedScalerState,
  MegatronScalerState,
} from "../compat/scaler-states.js";

// NNabla's updater
export { updater, type Updater, type UpdaterOptions } from "../compat/updater.js";
export type { Communicator } from "../compat/communicator.js";
