/** `@mp/core/compat`: what users of other frameworks bring. */

// Loss scalers of PyTorch, Keras, DeepSpeed and Megatron
export { scalerFrom, scalerStateTo, type ScaledTraining } from "../compat/scaler.js";
export type {
  ScalerFramework,
  ScalerStates,
  PyTorchScalerState,
  KerasScalerState,
  DeepSpeedScalerState,
  MegatronScalerState,
} from "../compat/scaler-states.js";
