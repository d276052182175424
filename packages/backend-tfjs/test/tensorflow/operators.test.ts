import { describePart } from "./suite-parts.js";

await describePart("operators");
