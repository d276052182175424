import type { AxisXOptions, AxisYOptions } from "@observablehq/plot";

/** The axis below a plot, which takes 40 pixels. */
export const below = (label: string): AxisXOptions => ({
  tickSize: 4,
  label,
  labelOffset: 32,
  labelAnchor: "center",
  labelArrow: false,
});

/** The axis at the left of a plot, with its label above. */
export const beside = (label: string): AxisYOptions => ({
  tickSize: 0,
  label,
  labelAnchor: "top",
  labelArrow: false,
});
