import { describePart } from "./describe-part.js";

describePart(1);
