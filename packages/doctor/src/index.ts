export { type DiagnoseOptions, type Diagnosis, diagnose } from "./diagnosis/diagnose.js";
export { inspectFile } from "./inspect/inspect-file.js";
export type {
  CheckpointInspection,
  InspectedTensor,
  InspectedValue,
  Inspection,
  OnnxInspection,
} from "./inspect/inspection.js";
export type { Finding } from "./machine/finding.js";
