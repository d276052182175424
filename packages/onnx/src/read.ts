import { type Graph, type HostTensor, isFloat, MpError } from "@mp/core";
import { type OnnxModel, OPSET_VERSION } from "./model.js";
import { GraphReader } from "./read/graph-reader.js";
import { OWN_DOMAIN, OWN_VERSION } from "./write/own-domain.js";

export interface ReadOptions {
  /** Sizes that the model leaves open: of a named dimension by its name, of any other by `input[axis]`. */
  readonly sizes?: Readonly<Record<string, number>>;
  /** Which initialisers are parameters, to be trained; by default floats with at least one dimension. */
  readonly isParameter?: (name: string, tensor: HostTensor) => boolean;
}

export interface ReadModel {
  /** Parameters are inputs of their names, after the model's own inputs. */
  readonly graph: Graph;
  /** Their values, of those that the graph uses. */
  readonly parameters: Readonly<Record<string, HostTensor>>;
}

/** The oldest operator set whose meaning the readers know; before it, axes and more were said otherwise. */
const OLDEST_OPSET = 13;

/**
 * A standard ONNX model as a graph. Initialisers that give axes, shapes and the like become attributes, what only
 * depends on small constants is evaluated, indices become i32.
 * @throws MP_UNSUPPORTED naming op, version and node, for what the vocabulary lacks
 * @throws MP_PARSE for a model that contradicts itself
 * @throws MP_INVALID_ARGUMENT where `sizes` lacks a size
 */
export function fromOnnx(model: OnnxModel, options: ReadOptions = {}): ReadModel {
  const version = model.opsets[""];
  if (version !== undefined && (version < OLDEST_OPSET || version > OPSET_VERSION)) {
    throw new MpError(
      "MP_UNSUPPORTED",
      `onnx: the model is of opset ${version}, convert it to one of ${OLDEST_OPSET} … ${OPSET_VERSION} (onnx.version_converter)`,
      { details: { version } },
    );
  }
  const own = model.opsets[OWN_DOMAIN];
  if (own !== undefined && own !== OWN_VERSION) {
    throw new MpError(
      "MP_UNSUPPORTED",
      `onnx: ${OWN_DOMAIN} ${own} is unknown, this package has ${OWN_VERSION}`,
      {
        details: { version: own },
      },
    );
  }
  const reader = new GraphReader(model, options.sizes ?? {});
  const isParameter =
    options.isParameter ?? ((_: string, { dtype, shape }: HostTensor) => isFloat(dtype) && shape.length > 0);
  const graph = reader.read(isParameter);
  return { graph, parameters: Object.fromEntries(reader.parameters) };
}
