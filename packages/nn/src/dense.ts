import { foldIn, type HostTensor, scope } from "@mp/core";
import { add, matMul } from "@mp/core/ops";
import { readOptions, withDefault } from "@mp/graph/internal";
import { constantValue, glorotUniform, type Initializer } from "./initializers.js";
import type { Layer } from "./layer.js";
import { checkSizes, initializer } from "./option-kinds.js";

export type DenseParameters = { readonly kernel: HostTensor<"f32">; readonly bias: HostTensor<"f32"> };

export interface DenseOptions {
  /** Initializer of the kernel; default `glorotUniform`. */
  readonly kernel?: Initializer;
  /** Initializer of the bias; default zeros. */
  readonly bias?: Initializer;
}

const DENSE = {
  kernel: withDefault(glorotUniform, initializer),
  bias: withDefault(constantValue(0), initializer),
};

/**
 * A dense layer, x · kernel + bias: [..., inputs] to [..., outputs]. The kernel is [inputs, outputs].
 * @throws MP_INVALID_ARGUMENT for sizes below 1, or unknown options
 */
export function dense(inputs: number, outputs: number, options: DenseOptions = {}): Layer<DenseParameters> {
  checkSizes("dense", { inputs, outputs });
  const { kernel, bias } = readOptions("dense", options, DENSE, {
    example: "{ kernel: heNormal }",
    elsewhere: {
      activation: `put the function behind the layer: sequential(dense(${inputs}, ${outputs}), relu)`,
    },
  });
  return {
    name: "dense",
    init: (key) => ({
      kernel: kernel(foldIn(key, "kernel"), [inputs, outputs], inputs, outputs),
      bias: bias(foldIn(key, "bias"), [outputs], inputs, outputs),
    }),
    apply: (parameters, x) => scope("dense", () => add(matMul(x, parameters.kernel), parameters.bias)),
  };
}
