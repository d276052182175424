/** Nodes and constants that are equal except for one attribute, operand, operator or element; none may be merged. */
import {
  DTYPES,
  type DType,
  FAMILIES,
  type HostTensor,
  isEighth,
  isFloat,
  type Op,
  opDTypes,
  REDUCE_OPS,
  type Value,
} from "@mp/graph";
import { hostData } from "../../host-data.js";
import { BINARY, type Form, formTable, UNARY } from "./form-table.js";
import type { Kit, Make, Pattern, PatternTable } from "./pattern.js";

const OPS = Object.keys(opDTypes) as Op[];
/** Operators whose two operands may be exchanged. */
const PAIRED: readonly Op[] = [...FAMILIES.binary, ...FAMILIES.matrix, "Concat", "Barrier"];

function formDTypes(op: Op): readonly DType[] {
  if (op === "OneHot" || op === "RandomBits") return ["f32"];
  // A bool range has at most two elements.
  if (op === "Range") return opDTypes.Range.filter((dtype) => dtype !== "bool");
  if (op === "Scan") return opDTypes.Scan.filter((dtype) => !isEighth(dtype));
  // Engines merge nodes whatever the dtype, so each operator has one of the halves in turn.
  const left = OPS.indexOf(op) % 2 === 0 ? "bf16" : "f16";
  return opDTypes[op].filter((dtype) => dtype !== left);
}

const findForm = <K extends Op>(op: K, dtype: DType): Form<K> => formTable(dtype)[op];

/** Nodes on the same operands, one for each list of attributes. */
const byAttributes =
  <K extends Op>(op: K): Make =>
  (kit) => {
    const { attributes, others = [], operands } = findForm(op, kit.dtype);
    const given = operands(kit);
    return [attributes, ...others.map((other) => ({ ...attributes, ...other }))].flatMap((own) =>
      kit.all(op, own, ...given),
    );
  };

/** Nodes with the same attributes: with each operand replaced, without optional operands, with operands swapped. */
const byOperands =
  <K extends Op>(op: K): Make =>
  (kit) => {
    const { attributes, operands, optional = 0 } = findForm(op, kit.dtype);
    const [given, other] = [operands(kit), operands(kit)];
    const exchanged = given.map((_, place) =>
      given.map((value, at) => (at === place ? (other[at] ?? value) : value)),
    );
    const shorter = optional === 0 ? [] : [given.slice(0, given.length - optional)];
    const [a, b] = given;
    const isPair =
      PAIRED.includes(op) &&
      given.length === 2 &&
      a?.dtype === b?.dtype &&
      a?.shape.join() === b?.shape.join();
    const swapped = isPair ? [[...given].reverse()] : [];
    return [given, ...exchanged, ...shorter, ...swapped].flatMap((list) => kit.all(op, attributes, ...list));
  };

const each = (what: string, ops: readonly Op[], make: (op: Op) => Make): Record<string, Pattern> =>
  Object.fromEntries(
    ops.map((op) => [`${op}: ${what}`, { make: make(op), dtypes: formDTypes(op), slack: 4 }]),
  );

const hasOthers = (op: Op): boolean => (findForm(op, "f32").others ?? []).length > 0;
const HELD: readonly Op[] = ["Constant", "Range", "RandomBits"];

/** One node of each of the ops, on the same operands. */
const together =
  (ops: readonly Op[], operands: (kit: Kit) => readonly Value[]): Make =>
  (kit) => {
    const given = operands(kit);
    return ops
      .filter((op) => opDTypes[op].includes(kit.dtype))
      .flatMap((op) => kit.all(op, findForm(op, kit.dtype).attributes, ...given));
  };

export const nodeTable: PatternTable = {
  dtypes: ["f32"],
  patterns: {
    ...each("attributes", OPS.filter(hasOthers), byAttributes),
    ...each(
      "operands",
      OPS.filter((op) => !HELD.includes(op)),
      byOperands,
    ),
    "every function of one operand": {
      make: together(UNARY, ({ of }) => [of([3, 5], "tame")]),
      dtypes: DTYPES.slice(),
      slack: 4,
    },
    "every function of two operands": {
      make: together(BINARY, ({ of, dtype }) => {
        const draw = dtype === "bool" ? "whole" : "tame";
        return [of([3, 5], draw), of([3, 5], draw)];
      }),
      dtypes: ["f32", "f16", "bf16", "i32", "i64", "u64", "u8", "bool"],
      slack: 4,
    },
    "every reduction": {
      make: together(REDUCE_OPS, ({ of }) => [of([3, 3, 3], "tame")]),
      dtypes: ["f32", "f16", "bf16", "i32", "i64", "u64"],
      slack: 4,
    },
  },
};

/** Lengths from one element over a cache line to several pages. */
const LENGTHS = [1, 2, 5, 16, 17, 33, 100, 1025] as const;

function changeElement(x: HostTensor, place: number, to?: number): HostTensor {
  const data = x.data.slice();
  const near = data[place] as number | bigint;
  if (to !== undefined) data[place] = hostData(x.dtype, [to]).data[0] as never;
  else if (x.dtype === "bool") data[place] = (1 - Number(near)) as never;
  else if (x.dtype === "f32") data[place] = (Number(near) + 1) as never;
  else data[place] = (typeof near === "bigint" ? near ^ 1n : near ^ 1) as never;
  return { ...x, data } as HostTensor;
}

const drawConstant = ({ dtype, random }: Kit, length: number): HostTensor =>
  hostData(
    dtype,
    Array.from({ length }, () => random.integer(dtype === "bool" ? 0 : 1, dtype === "bool" ? 1 : 9)),
  );

/** Reads a constant as an output and through another operator. */
function read(kit: Kit, x: HostTensor): readonly Value[] {
  const value = kit.held(x);
  const { dtype } = kit;
  if (isEighth(dtype)) return [kit.by("Cast", { to: "f32" }, value), value];
  const op = dtype === "bool" ? "Xor" : "Sub";
  return [kit.by(op, {}, kit.held(drawConstant(kit, x.data.length)), value), kit.by("Identity", {}, value)];
}

const constants: Record<string, Make | Pattern> = {};
for (const length of LENGTHS) {
  constants[`${length} elements but for one`] = (kit) => {
    const x = drawConstant(kit, length);
    const places = new Set([0, length - 1, length >> 1, kit.random.integer(0, length - 1)]);
    return [x, ...[...places].map((place) => changeElement(x, place))].flatMap((value) => read(kit, value));
  };
  constants[`${length} zeros but for a sign`] = {
    make: (kit) => {
      const x = hostData(kit.dtype, new Array<number>(length).fill(0));
      return [
        x,
        changeElement(x, 0, -0),
        changeElement(x, length >> 1, -0),
        changeElement(x, length - 1, -0),
        changeElement(x, length >> 1, Number.NaN),
      ].flatMap((value) => read(kit, value));
    },
    dtypes: DTYPES.filter(isFloat),
  };
}
constants["one shape or another"] = (kit) => {
  const x = drawConstant(kit, 12);
  return [[12], [3, 4], [4, 3], [2, 6], [1, 12], [12, 1], [2, 2, 3]].flatMap((shape) => {
    const value = kit.held({ ...x, shape } as HostTensor);
    return [
      kit.by("Identity", {}, value),
      kit.by("Concat", { axis: 0 }, value, kit.held({ ...drawConstant(kit, 12), shape } as HostTensor)),
    ];
  });
};
constants["a scalar or a vector of one"] = (kit) => {
  const x = drawConstant(kit, 1);
  return [[], [1], [1, 1]].map((shape) => kit.by("Identity", {}, kit.held({ ...x, shape } as HostTensor)));
};
constants["the start of another"] = (kit) => {
  const x = drawConstant(kit, 40);
  return [40, 39, 20, 16, 8, 1].map((length) =>
    kit.by("Identity", {}, kit.held({ ...x, data: x.data.slice(0, length), shape: [length] } as HostTensor)),
  );
};

/** Dtypes whose elements have the same size. */
const SAME_SIZE: readonly (readonly DType[])[] = [
  ["f32", "i32"],
  ["f16", "bf16"],
  ["i64", "u64"],
  ["u8", "bool"],
  ["f8e4m3", "f8e5m2"],
];
for (const dtypes of SAME_SIZE) {
  constants[`the bytes of ${dtypes.join(" and ")}`] = {
    make: (kit) => {
      const bytes = Uint8Array.from({ length: 64 }, (_, at) =>
        dtypes.includes("bool") ? at % 2 : at % 4 === 3 ? 1 : at,
      );
      return dtypes.map((dtype) => {
        const { data } = hostData(dtype, [0]);
        const ArrayOf = data.constructor as new (buffer: ArrayBuffer) => typeof data;
        const same = new ArrayOf(bytes.buffer.slice(0));
        return kit.by("Identity", {}, kit.held({ dtype, shape: [same.length], data: same } as HostTensor));
      });
    },
    dtypes: dtypes.slice(0, 1),
  };
}

export const constantTable: PatternTable = { dtypes: DTYPES.slice(), patterns: constants };
