import type { MemoryKinds, StepMemory } from "@mp/core/report";
import { axisX, axisY, barX, ruleX, text } from "@observablehq/plot";
import { type Figure, textWidth } from "../figure.js";
import { bytes } from "../numbers.js";
import { below } from "./axes.js";

const kindNames: Readonly<Record<keyof MemoryKinds, string>> = {
  masters: "master weights",
  halfWeights: "weights in the half",
  optimizer: "optimizer state",
  modelState: "model state",
  gradients: "gradients",
  activations: "kept activations",
  batch: "one batch",
};

/** Draws the bytes of each kind of memory, and the planned and the measured peak. */
export function memoryFigure({ kinds, optimizerInF32, plannedPeak, measuredPeak }: StepMemory): Figure {
  const aside = (name: string, size: number) => ({ name, size, fill: "var(--single)" });
  const rows = Object.entries(kindNames).flatMap(([kind, name]) => {
    const row = { name, size: kinds[kind as keyof MemoryKinds], fill: "var(--half)" };
    const isSmall = kind === "optimizer" && row.size !== optimizerInF32;
    return isSmall ? [row, aside("the same in f32", optimizerInF32)] : [row];
  });
  rows.push(aside("planned peak", plannedPeak));
  if (measuredPeak !== null) rows.push(aside("measured peak", measuredPeak));
  const marginLeft = Math.ceil(Math.max(...rows.map(({ name }) => textWidth(name)))) + 8;
  return {
    title: "Memory by kind",
    description: rows.map(({ name, size }) => `${name} ${bytes(size)}`).join(", "),
    draw: () => ({
      height: 24 + rows.length * 24,
      marginLeft,
      marginRight: 74,
      marginTop: 4,
      marginBottom: 20,
      x: { domain: [0, Math.max(1, ...rows.map(({ size }) => size))], label: null, axis: null },
      y: { domain: rows.map(({ name }) => name), label: null, padding: 0.25 },
      marks: [
        barX(rows, { x: "size", y: "name", fill: "fill" }),
        text(rows, {
          x: "size",
          y: "name",
          text: ({ size }) => bytes(size),
          textAnchor: "start",
          dx: 5,
          fill: "var(--ink)",
        }),
        ruleX([0], { stroke: "var(--axis)" }),
        axisX({ ...below("bytes"), ticks: 0, tickSize: 0, labelAnchor: "left", labelOffset: 16 }),
        axisY({ tickSize: 0 }),
      ],
    }),
  };
}
