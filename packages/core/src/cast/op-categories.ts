import type { HalfDType } from "../dtype.js";
import type { Op } from "../graph/attributes.js";
import type { CastCategory } from "../graph/category.js";
import { opTable } from "../graph/op-table.js";

/** The category of each op, per half dtype. */
export const castCategories: Readonly<Record<Op, Readonly<Record<HalfDType, CastCategory>>>> =
  Object.fromEntries(Object.entries(opTable).map(([op, { cast }]) => [op, cast])) as Record<
    Op,
    Readonly<Record<HalfDType, CastCategory>>
  >;
