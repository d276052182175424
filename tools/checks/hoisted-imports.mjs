const IMPORT = /^import (type )?(?:\{([^}]*)\}|[^{};]*?) ?(?:from )?("[^"]+");/gm;

/** Import declarations collected from several blocks, each name once. */
export class HoistedImports {
  /** @type {Map<string, Map<string, { name: string; isType: boolean }>>} by quoted module, by local name */
  #named = new Map();
  /** Declarations without a list of names in braces. @type {Set<string>} */
  #others = new Set();

  /**
   * Removes the declarations from a block.
   * @param {string} code
   * @returns {string} the rest, with the same number of lines
   */
  take(code) {
    return code.replace(IMPORT, (text, type, list, from) => {
      if (list === undefined) this.#others.add(text);
      else for (const name of list.split(",")) this.#add(from, name.trim(), type !== undefined);
      return text.replace(/[^\n]/g, "");
    });
  }

  /** @param {string} from @param {string} written as in the declaration @param {boolean} inType */
  #add(from, written, inType) {
    if (written === "") return;
    const isType = inType || written.startsWith("type ");
    const name = written.replace(/^type /, "");
    const local = name.replace(/^.* as /, "");
    const names = this.#named.get(from) ?? new Map();
    this.#named.set(from, names);
    // A name that is imported as a value too is a value.
    if (names.get(local)?.isType !== false) names.set(local, { name, isType });
  }

  /** Writes all declarations on one line. */
  toString() {
    const named = [...this.#named].map(([from, names]) => {
      const list = [...names.values()].map(({ name, isType }) => (isType ? `type ${name}` : name));
      return `import { ${list.join(", ")} } from ${from};`;
    });
    return [...this.#others, ...named].join(" ");
  }
}
