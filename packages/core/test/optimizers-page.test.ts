/** The tables of docs/optimizers.md against the code: every optimizer and part, its options, defaults and state. */
import { readFileSync } from "node:fs";
import { type HostTensor, isTensor, leavesOf, MpError, tensor } from "@mp/graph";
import { describe, expect, it } from "vitest";
import { runTrees } from "../../graph/test/run-traced.js";
import * as optim from "../src/entries/optim.js";
import type { Optimizer } from "../src/optim/optimizer.js";
import { covered } from "./more-peer-optimizers.js";

const page = readFileSync(new URL("../../../docs/optimizers.md", import.meta.url), "utf8");
const sections = new Map(
  page.split("\n## ").map((section) => [section.slice(0, section.indexOf("\n")), section]),
);
const sectionOf = (heading: string): string => sections.get(heading) ?? expect.fail(`no section ${heading}`);
const whole = sectionOf("Whole optimizers");
/** The options of all optimizers with state have a section. */
const ofStates = ["states", "rounding", "minU8Elements"];
const parts = sectionOf("Directions to compose");
const schedules = sectionOf("Schedules");
const rowsOf = (text: string): readonly (readonly string[])[] =>
  text
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) =>
      line
        .replaceAll("\\|", "")
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
const namesIn = (cell: string): string[] => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name as string);

/** Another allowed value of an option whose default is a name. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  adam: "yogi",
  f32: "bf16",
  original: "match_rms_adamw",
};

type Make = (options: object) => Optimizer;
const makers: ReadonlyMap<string, unknown> = new Map(Object.entries(optim));
const makerOf = (name: string): Make => makers.get(name) as Make;

const optionsOf = (make: Make): readonly string[] =>
  knownOf(() => make({ learningRate: 1, noSuchOption: 1 }));

/** `warmup(steps, then, options)` by its parts. */
function signatureOf(cell: string): { readonly name: string; readonly takes: readonly string[] } {
  const [, name = "", takes = ""] = /^`(\w+)\((.*)\)`$/.exec(cell) ?? [];
  return { name, takes: takes.split(", ") };
}

/** The known options, from the error for an unknown one. */
function knownOf(make: () => unknown): readonly string[] {
  try {
    make();
  } catch (error) {
    if (MpError.is(error)) return error.details["known"] as readonly string[];
  }
  throw new Error("an unknown option is accepted");
}

describe("docs/optimizers.md", () => {
  it("has a row for each optimizer that takes a learning rate, and one for each part", () => {
    const listed = [...rowsOf(whole), ...rowsOf(parts)].flatMap(([cell = ""]) => namesIn(cell));
    const others = ["chain", "byPath", "biasesAndNorms", "globalNorm", "settable"];
    others.push(...rowsOf(schedules).map(([cell = ""]) => signatureOf(cell).name));
    expect([...listed, ...others].sort()).toEqual(Object.keys(covered).sort());
  });

  it.each(rowsOf(schedules))("%s: its options", (cell = "", _rate, options = "") => {
    const { name, takes } = signatureOf(cell);
    const make = makers.get(name) as (...given: unknown[]) => unknown;
    const then = optim.linearSchedule(0, 1, 1);
    const given = takes.map((each) =>
      each === "options" ? { noSuchOption: 1 } : each === "then" ? then : 1,
    );
    const known = takes.includes("options") ? knownOf(() => make(...given)) : [];
    expect([...new Set(namesIn(options))]).toEqual(known);
  });

  it.each(rowsOf(whole))("%s: options, defaults and state", (cell = "", _step, options = "", state = "") => {
    const make = makerOf(namesIn(cell)[0] ?? "");
    const documented = [...options.matchAll(/`(\w+)`(?: ([^,]+))?/g)].map(([, name = "", value]) => [
      name,
      value,
    ]);
    const known = optionsOf(make);
    const isOfStates = (name: string): boolean => ofStates.includes(name);
    expect(documented.map(([name]) => name)).toEqual(known.filter((name) => !isOfStates(name)));
    expect(known.filter(isOfStates)).toEqual(state.startsWith("0") ? [] : ofStates);
    const defaults = documented.flatMap(([name, value]) =>
      value === undefined ? [] : [[name, JSON.parse(value)]],
    );
    const given = documented.some(([name, value]) => name === "learningRate" && value === undefined)
      ? { learningRate: 1 }
      : {};
    expect(() => make({ ...given, ...Object.fromEntries(defaults) })).not.toThrow();
    expect(make({ ...given, ...Object.fromEntries(defaults) }).description).toBe(make(given).description);
    for (const [name, value] of defaults) {
      const number = value === 0 ? 0.5 : Number.isInteger(value) && value > 1 ? value - 1 : value * 0.9;
      const other = typeof value === "boolean" ? !value : (OTHER_NAMES[value] ?? number);
      const changed = { ...given, [name]: other };
      expect(make(changed).description, `another ${name}`).not.toBe(make(given).description);
    }
    const matrix = tensor(new Float32Array(48 * 32), [48, 32]);
    const initial = runTrees({ w: matrix }, (parameters) => make(given).init(parameters)) as Record<
      string,
      object
    >;
    expect(Object.keys(initial).sort()).toEqual(namesIn(state).sort());
    const sizes = Object.values(initial).map((part) => bytesOf(part));
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    if (state.startsWith("rows and columns")) expect(bytes).toBe(4 * (48 + 32));
    else expect(`${Math.floor(bytes / (48 * 32))}`).toBe(state.split(":")[0]);
  });

  it("says of parts with options whose options and state they have", () => {
    for (const [cell = "", direction = ""] of rowsOf(parts)) {
      const of = /^that of `(\w+)`/.exec(direction)?.[1];
      if (of === undefined) continue;
      const part: Pick<Optimizer, "init"> = makerOf(namesIn(cell)[0] ?? "")({});
      expect(part).toMatchObject({ kind: "gradient" });
      const whole = makerOf(of)({ learningRate: 1 });
      const initial = (each: Pick<Optimizer, "init">): object =>
        runTrees({ w: tensor(new Float32Array(6), [2, 3]) }, (parameters) => each.init(parameters));
      expect(initial(part), cell).toEqual(initial(whole));
    }
  });
});

const isHost = (value: unknown): value is HostTensor =>
  typeof value === "object" && value !== null && "data" in value && !isTensor(value);

const bytesOf = (tree: object): number =>
  leavesOf<HostTensor>(tree, isHost, "state").reduce((sum, [, leaf]) => sum + leaf.data.byteLength, 0);
