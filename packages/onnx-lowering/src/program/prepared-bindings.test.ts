import { expect, it } from "vitest";
import { PreparedBindings } from "./prepared-bindings.js";

interface Binding {
  release(): void;
}

/** Makes bindings that only record when they are released. */
function counted(): {
  readonly make: (sides: string) => () => Binding;
  readonly alive: () => string[];
} {
  const alive = new Set<string>();
  return {
    make: (sides) => () => {
      alive.add(sides);
      return { release: () => void alive.delete(sides) };
    },
    alive: () => [...alive].sort(),
  };
}

it("makes a binding once for each combination of sides", () => {
  const { make } = counted();
  const bindings = new PreparedBindings<Binding>();
  const first = bindings.get("00", make("00"));
  expect(bindings.get("01", make("01"))).not.toBe(first);
  expect(bindings.get("00", make("00"))).toBe(first);
});

it("keeps eight, releasing the one that has been out of use for longest", () => {
  const { make, alive } = counted();
  const bindings = new PreparedBindings<Binding>();
  const names = "abcdefgh".split("");
  for (const name of names) bindings.get(name, make(name));
  bindings.get("a", make("a"));
  bindings.get("i", make("i"));
  expect(alive().join("")).toBe("acdefghi");
  for (let turn = 0; turn < 100; turn++) bindings.get(`n${turn}`, make(`n${turn}`));
  expect(alive()).toHaveLength(8);
});

it("releases all, and can be used again", () => {
  const { make, alive } = counted();
  const bindings = new PreparedBindings<Binding>();
  for (const name of ["a", "b", "c"]) bindings.get(name, make(name));
  bindings.releaseAll();
  bindings.releaseAll();
  expect(alive()).toEqual([]);
  bindings.get("a", make("a"));
  expect(alive()).toEqual(["a"]);
});
