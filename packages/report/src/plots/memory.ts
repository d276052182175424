import type { MemoryKinds, StepMemory } from "@mp/core/report";
import { axisX, axisY, barX, ruleX, text } from "@observablehq/plot";
import { type Figure, textWidth } from "../figure.js";
import { bytes } from "../numbers.js";

const kindNames: Readonly<Record<keyof MemoryKinds, string>> = {
  masters: "master weights",
  halfWeights: "weights in the half",
  optimizer: "optimizer state",
  modelState: "model state",
  gradients: "gradients",
  activations: "kept activations",
  batch: "one batch",
};

/** Bytes by what they are for, and the peak of them all. */
export function memoryFigure({ kinds, plannedPeak, measuredPeak }: StepMemory): Figure {
  const rows = [
    ...Object.entries(kindNames).map(([kind, name]) => ({
      name,
      size: kinds[kind as keyof MemoryKinds],
      fill: "var(--half)",
    })),
    { name: "planned peak", size: plannedPeak, fill: "var(--single)" },
    ...(measuredPeak === null ? [] : [{ name: "measured peak", size: measuredPeak, fill: "var(--single)" }]),
  ];
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
        axisX({
          ticks: 0,
          tickSize: 0,
          label: "bytes",
          labelAnchor: "left",
          labelArrow: false,
          labelOffset: 16,
        }),
        axisY({ tickSize: 0 }),
      ],
    }),
  };
}
