import { dtypeMismatch, invalid } from "../errors.js";
import type { ValueType } from "../graph/graph.js";
import type { HostTensor } from "../host/host-tensor.js";
import { shown } from "../shown.js";
import { expectHostTensor, expectNamed, expectType } from "./check-tensor.js";

type Named = readonly (readonly [name: string, value: HostTensor])[];

/** The slots of a state by name and type, and the checks before a read or write. */
export class StateTypes {
  readonly byName: Readonly<Record<string, ValueType>>;

  /** Takes the types of the initial values. @throws MP_INVALID_ARGUMENT, MP_DTYPE_MISMATCH, MP_SHAPE_MISMATCH */
  constructor(values: Readonly<Record<string, HostTensor>>) {
    const types = expectNamed("createState", values).map(([name, value]) => {
      const { dtype, shape } = expectHostTensor(`state "${name}"`, value);
      return [name, Object.freeze({ dtype, shape: Object.freeze([...shape]) })] as const;
    });
    this.byName = Object.freeze(Object.fromEntries(types));
  }

  /** The slots to read, without repetition; by default all slots. @throws MP_INVALID_ARGUMENT */
  reading(names: readonly string[] = Object.keys(this.byName)): readonly string[] {
    if (!Array.isArray(names)) {
      throw invalid(`state: takes a list of names, got ${shown(names)}`);
    }
    for (const name of names) this.#expectSlot(name);
    return [...new Set(names)];
  }

  /**
   * The values to write, each checked against its slot's type.
   * @throws MP_INVALID_ARGUMENT, MP_DTYPE_MISMATCH, MP_SHAPE_MISMATCH
   */
  writing(values: Readonly<Record<string, HostTensor>>): Named {
    return expectNamed("state", values).map(([name, value]) => {
      const what = `state "${name}"`;
      const checked = expectHostTensor(what, value);
      expectType(what, checked, this.#expectSlot(name));
      return [name, checked] as const;
    });
  }

  /** Checks that groups hold only f32 slots, and no slot twice. @throws MP_INVALID_ARGUMENT, MP_DTYPE_MISMATCH */
  groups(groups: readonly (readonly string[])[]): readonly (readonly string[])[] {
    const seen = new Set<string>();
    for (const name of groups.flat()) {
      const what = `adjacent: "${name}"`;
      const { dtype } = this.#expectSlot(name);
      if (dtype !== "f32") throw dtypeMismatch(`${what} is ${dtype}, f32 is needed`);
      if (seen.has(name)) throw invalid(`${what} is there twice`);
      seen.add(name);
    }
    return groups.map((group) => [...group]);
  }

  #expectSlot(name: string): ValueType {
    const type = Object.hasOwn(this.byName, name) ? this.byName[name] : undefined;
    if (type === undefined) {
      throw invalid(`state: there is no "${name}"`, { details: { name } });
    }
    return type;
  }
}
