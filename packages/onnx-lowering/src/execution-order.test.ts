import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { executionOrder, lateFirst, listForSchedule, type OrderedNode } from "./execution-order.js";

interface ModelNode extends OrderedNode {
  readonly name: string;
}

/** Nodes in a topological order: node i reads the graph's input or values of earlier nodes. */
const schedules: fc.Arbitrary<readonly ModelNode[]> = fc
  .array(fc.array(fc.nat({ max: 1000 }), { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 40 })
  .map((choices) =>
    choices.map((picks, place) => ({
      inputs: picks.map((pick) => (pick % (place + 1) === 0 ? "x" : `v${(pick % (place + 1)) - 1}`)),
      outputs: [`v${place}`],
      name: `n${place}`,
    })),
  );

function write(schedule: readonly ModelNode[]): readonly ModelNode[] {
  return listForSchedule(schedule).map((listed) =>
    listed.kind === "node"
      ? (schedule[listed.position] as ModelNode)
      : {
          inputs: [listed.value],
          outputs: [`anchor:${listed.value}`],
          name: `anchor:${listed.value}`,
        },
  );
}

const isAnchor = (name: string | undefined) => name?.startsWith("anchor:") === true;

function predicted(listed: readonly ModelNode[]): string[] {
  return executionOrder(listed).map((place) => listed[place]?.name ?? "");
}

describe("listForSchedule", () => {
  it("makes ORT's walk follow any topological order", () => {
    fc.assert(
      fc.property(schedules, (schedule) => {
        const order = predicted(write(schedule)).filter((name) => !isAnchor(name));
        expect(order).toEqual(schedule.map(({ name }) => name));
      }),
    );
  });

  it("writes a depth-first schedule backwards and adds nothing", () => {
    const chain: ModelNode[] = ["a", "b", "c"].map((name, place) => ({
      inputs: [place === 0 ? "x" : (["a", "b"][place - 1] as string)],
      outputs: [name],
      name,
    }));
    expect(listForSchedule(chain)).toEqual([2, 1, 0].map((position) => ({ kind: "node", position })));
  });

  it("anchors what depth first would run later", () => {
    const node = (name: string, ...inputs: string[]) => ({ inputs, outputs: [name], name });
    const schedule = [node("a", "x"), node("b", "x"), node("c", "a"), node("d", "b"), node("e", "c", "d")];
    expect(predicted([...schedule].reverse())).toEqual(["a", "c", "b", "d", "e"]);
    const written = write(schedule);
    expect(written.filter(({ name }) => isAnchor(name)).length).toBe(2);
    expect(predicted(written).filter((name) => !isAnchor(name))).toEqual(["a", "b", "c", "d", "e"]);
  });

  it("keeps the order of independent results", () => {
    const schedule = [2, 0, 1].map((index) => ({
      inputs: ["x"],
      outputs: [`v${index}`],
      name: `v${index}`,
    }));
    expect(predicted(write(schedule))).toEqual(["v2", "v0", "v1"]);
  });

  it("stays quick on long schedules that need many anchors", () => {
    const lanes = 50;
    const schedule = Array.from({ length: 20_000 }, (_, place) => ({
      inputs: [place < lanes ? "x" : `v${place - lanes}`],
      outputs: [`v${place}`],
    }));
    // CPU time of this process, which does not grow on a busy machine: about 0.3 s, but minutes for a walk from every
    // node.
    const before = process.cpuUsage();
    const listed = listForSchedule(schedule);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1e6).toBeLessThan(10);
    expect(listed.filter(({ kind }) => kind === "node").length).toBe(schedule.length);
  });
});

describe("lateFirst", () => {
  it("lists every node once, after the nodes that it reads", () => {
    fc.assert(
      fc.property(schedules, (schedule) => {
        const listed = lateFirst(schedule).map((place) => schedule[place] as ModelNode);
        expect(new Set(listed).size).toBe(schedule.length);
        const made = new Set(["x"]);
        for (const { inputs, outputs } of listed) {
          expect(inputs.every((name) => made.has(name))).toBe(true);
          for (const name of outputs) made.add(name);
        }
      }),
    );
  });

  it("makes the walk take what is scheduled first, where it is free to", () => {
    const node = (name: string, ...inputs: string[]): ModelNode => ({
      inputs,
      outputs: [name],
      name,
    });
    const schedule = [node("a", "x"), node("b", "a"), node("c", "x"), node("d", "c"), node("e", "b", "d")];
    const order = (listed: readonly ModelNode[]) => predicted(listed).join("");
    expect(order(schedule)).toBe("cdabe");
    expect(order(lateFirst(schedule).map((place) => schedule[place] as ModelNode))).toBe("abcde");
  });
});
