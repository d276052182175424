import { describeExportedModels } from "../exported-models.js";

describeExportedModels("tfjs");
