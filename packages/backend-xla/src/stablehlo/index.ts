/** Writes operations as StableHLO text. */
export { Emitter, type EmitterOptions } from "./emitter.js";
export { uniformValue } from "./literal.js";
export { count, type Operand, rankOf } from "./operand.js";
export { devicesText, shardingAttribute } from "./sharding.js";
export { namesText, typesText, typeText } from "./tensor-type.js";
