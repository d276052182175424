import { foldIn, type HostTensor, scope } from "@mp/core";
import { checkOptions } from "@mp/core/internal";
import { add, matMul } from "@mp/core/ops";
import { checkInitializers } from "./check-initializer.js";
import { checkSizes } from "./check-size.js";
import { constantValue, glorotUniform, type Initializer } from "./initializers.js";
import type { Layer } from "./layer.js";

export type DenseParameters = { readonly kernel: HostTensor<"f32">; readonly bias: HostTensor<"f32"> };

export interface DenseOptions {
  /** Default `glorotUniform`. */
  readonly kernel?: Initializer;
  /** Default zeros. */
  readonly bias?: Initializer;
}

/**
 * x · kernel + bias: [..., inputs] to [..., outputs]. The kernel is [inputs, outputs]. @throws MP_INVALID_ARGUMENT for
 * sizes below 1, or unknown options
 */
export function dense(inputs: number, outputs: number, options: DenseOptions = {}): Layer<DenseParameters> {
  checkSizes("dense", { inputs, outputs });
  checkOptions("dense", options, { kernel: true, bias: true }, "{ kernel: heNormal }", {
    activation: `put the function behind the layer: sequential(dense(${inputs}, ${outputs}), relu)`,
  });
  const { kernel = glorotUniform, bias = constantValue(0) } = options;
  checkInitializers("dense", { kernel, bias });
  return {
    name: "dense",
    init: (key) => ({
      kernel: kernel(foldIn(key, "kernel"), [inputs, outputs], inputs, outputs),
      bias: bias(foldIn(key, "bias"), [outputs], inputs, outputs),
    }),
    apply: (parameters, x) => scope("dense", () => add(matMul(x, parameters.kernel), parameters.bias)),
  };
}
