// Substitutes element types that graphs lack, as the caller's `readAs` says. A wider integer type holds a narrower one.
// Where an operator's results may leave the narrow type's range, added nodes wrap them around as that type does, so
// that the values are those of the model.
import { create } from "@bufbuild/protobuf";
import { codeOfElementType, elementTypeOfCode } from "./element-type.js";
import { quote, unsupported } from "./problem.js";
import {
  AttributeProto_AttributeType,
  AttributeProtoSchema,
  type GraphProto,
  type ModelProto,
  type NodeProto,
  NodeProtoSchema,
  TensorProtoSchema,
  type ValueInfoProto,
} from "./proto/onnx_pb.js";
import {
  findSubstitute,
  type ReadAs,
  type SmallInteger,
  smallIntegerOfCode,
  substitutes,
} from "./read-as.js";
import { smallIntegerRules } from "./small-integer-rules-table.js";
import { substituteTensor } from "./tensor-substitution.js";

/** Attributes whose value is ONNX's code of an element type. */
const TYPE_ATTRIBUTES: ReadonlySet<string> = new Set(["to", "dtype", "output_datatype", "softmax_precision"]);

/** The substituted integer type of each value that has one, by value name. */
type SmallIntegers = ReadonlyMap<string, SmallInteger>;

/** Number of values of each substituted integer type, and whether they may be negative. */
const ranges: Readonly<Record<SmallInteger, { readonly size: number; readonly isSigned: boolean }>> = {
  INT8: { size: 2 ** 8, isSigned: true },
  INT16: { size: 2 ** 16, isSigned: true },
  UINT16: { size: 2 ** 16, isSigned: false },
  UINT32: { size: 2 ** 32, isSigned: false },
};

/** The substituted integer type of a node's outputs (one for all, or one for each); whether results must be wrapped. */
interface Substituted {
  readonly small: SmallInteger | readonly (SmallInteger | undefined)[] | undefined;
  readonly wraps: boolean;
}

const NOTHING: Substituted = { small: undefined, wraps: false };

/**
 * Replaces the element types that `readAs` names; changes `model`.
 * @throws MP_UNSUPPORTED for a number that the substitute type cannot hold, and for an operator whose results
 *   for substituted integers are not known
 */
export function substituteElementTypes(model: ModelProto, readAs: ReadAs): void {
  if (model.graph !== undefined)
    new Substitution(readAs, valueNames(model.graph)).graph(model.graph, new Map());
}

/** The names of all values of a graph and of its bodies. */
function valueNames({ node, input, initializer }: GraphProto): Set<string> {
  const names = new Set([...input, ...initializer].map(({ name }) => name));
  for (const { output, attribute } of node) {
    for (const name of output) names.add(name);
    for (const { g } of attribute) if (g !== undefined) for (const name of valueNames(g)) names.add(name);
  }
  return names;
}

class Substitution {
  readonly #readAs: ReadAs;
  readonly #names: Set<string>;

  constructor(readAs: ReadAs, names: Set<string>) {
    this.#readAs = readAs;
    this.#names = names;
  }

  /** Substitutes in one graph. @returns the substituted integer type of each output, undefined for others */
  graph(graph: GraphProto, around: SmallIntegers): readonly (SmallInteger | undefined)[] {
    const types = new Map(around);
    const define = (name: string, code: number): void => {
      const type = smallIntegerOfCode(code, this.#readAs);
      if (type === undefined) types.delete(name);
      else types.set(name, type);
    };
    for (const tensor of graph.initializer) {
      define(tensor.name, tensor.dataType);
      substituteTensor(tensor, `initializer ${quote(tensor.name)}`, this.#readAs);
    }
    for (const info of graph.input) define(info.name, this.#declared(info));
    for (const info of [...graph.output, ...graph.valueInfo]) this.#declared(info);
    graph.node = graph.node.flatMap((node) => {
      const { small, wraps } = this.#node(node, types);
      for (const [at, name] of node.output.entries()) {
        const type = Array.isArray(small) ? small[at] : small;
        if (type === undefined) types.delete(name);
        else types.set(name, type);
      }
      return wraps && typeof small === "string" ? this.#wrapped(node, small) : [node];
    });
    return graph.output.map(({ name }) => types.get(name));
  }

  /** Substitutes a declared type. @returns ONNX's code of the type before the substitution */
  #declared({ type }: ValueInfoProto): number {
    if (type?.value.case !== "tensorType") return 0;
    const tensor = type.value.value;
    const code = tensor.elemType;
    tensor.elemType = this.#codeFor(code);
    return code;
  }

  #codeFor(code: number): number {
    const type = elementTypeOfCode(code);
    const substitute = type === undefined ? undefined : findSubstitute(type, this.#readAs);
    return substitute === undefined ? code : codeOfElementType(substitute);
  }

  #node(node: NodeProto, types: SmallIntegers): Substituted {
    let named: SmallInteger | undefined;
    let given: Substituted["small"];
    for (const attribute of node.attribute) {
      const what = `attribute ${quote(attribute.name)} of node ${quote(node.name === "" ? node.opType : node.name)}`;
      if (TYPE_ATTRIBUTES.has(attribute.name) && attribute.type === AttributeProto_AttributeType.INT) {
        named = smallIntegerOfCode(Number(attribute.i), this.#readAs);
        attribute.i = BigInt(this.#codeFor(Number(attribute.i)));
      }
      if (attribute.t !== undefined) {
        named = smallIntegerOfCode(attribute.t.dataType, this.#readAs);
        substituteTensor(attribute.t, what, this.#readAs);
      }
      if (attribute.g === undefined) continue;
      const made = this.graph(attribute.g, types);
      if (made.some((type) => type !== undefined)) given = made;
    }
    if (named !== undefined) return { small: named, wraps: node.opType.startsWith("Cast") };
    const operand = node.input.map((name) => types.get(name)).find((type) => type !== undefined);
    const body = Array.isArray(given) ? given.find((type) => type !== undefined) : undefined;
    // An If returns what its branches return; a loop also passes that to its next step.
    if (node.opType === "If" && body !== undefined) return { small: given, wraps: false };
    if (operand === undefined && body === undefined) return NOTHING;
    const rule = smallIntegerRules.get(node.domain === "" || node.domain === "ai.onnx" ? node.opType : "");
    const type = operand ?? (body as SmallInteger);
    if (rule === undefined)
      return unsupported(
        `${node.opType} (makes ${quote(node.output[0] ?? "")}) computes in ${type}, which is read as ${substitutes[type]}; what it gives of these is not known`,
      );
    const small = rule.of === undefined ? undefined : types.get(node.input[rule.of] ?? "");
    return small === undefined ? NOTHING : { small, wraps: rule.wraps };
  }

  /** Returns the node, followed by nodes that wrap its first result into the range of `type`. */
  #wrapped(node: NodeProto, type: SmallInteger): readonly NodeProto[] {
    const [result = ""] = node.output;
    if (result === "") return [node];
    const { size, isSigned } = ranges[type];
    const made: NodeProto[] = [node];
    const add = (opType: string, operand: string, number: number, output: string): string => {
      const constant = this.#fresh(`${result}/${number}`);
      made.push(constantNode(constant, type, number));
      made.push(create(NodeProtoSchema, { opType, input: [operand, constant], output: [output] }));
      return output;
    };
    const wide = this.#fresh(`${result}/wide`);
    node.output = [wide, ...node.output.slice(1)];
    if (!isSigned) add("Mod", wide, size, result);
    else {
      const shifted = add("Add", wide, size / 2, this.#fresh(`${result}/shifted`));
      const wrapped = add("Mod", shifted, size, this.#fresh(`${result}/wrapped`));
      add("Sub", wrapped, size / 2, result);
    }
    return made;
  }

  #fresh(wanted: string): string {
    const name = this.#names.has(wanted) ? this.#fresh(`${wanted}'`) : wanted;
    this.#names.add(name);
    return name;
  }
}

function constantNode(name: string, type: SmallInteger, number: number): NodeProto {
  const substitute = substitutes[type];
  const data = substitute === "i64" ? BigInt64Array.of(BigInt(number)) : Int32Array.of(number);
  const value = create(TensorProtoSchema, {
    dataType: codeOfElementType(substitute),
    rawData: new Uint8Array(data.buffer),
  });
  const attribute = create(AttributeProtoSchema, {
    name: "value",
    type: AttributeProto_AttributeType.TENSOR,
    t: value,
  });
  return create(NodeProtoSchema, { opType: "Constant", output: [name], attribute: [attribute] });
}
