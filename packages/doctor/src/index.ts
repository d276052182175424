export { type DiagnoseOptions, type Diagnosis, diagnose } from "./diagnose.js";
export type { Finding } from "./finding.js";
export { inspectFile } from "./inspect/inspect-file.js";
export type {
  CheckpointInspection,
  InspectedTensor,
  InspectedValue,
  Inspection,
  OnnxInspection,
} from "./inspect/inspection.js";
