import type { StateFormat } from "@mp/core/optim";
import { choice, type Flag } from "../flag.js";

/** The flag for the option `states` of an app's optimizer. */
export const statesFlag: Flag<StateFormat> = choice(["f32", "bf16", "f16", "f8e4m3", "u8"], {
  default: "f32",
  help: "how the optimizer's state is stored between steps",
});
