import { describeSameBits } from "../same-bits.js";

describeSameBits("openvino");
