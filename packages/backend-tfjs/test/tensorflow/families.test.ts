import { describePart } from "./suite-parts.js";

await describePart("families");
