import { apiReports } from "../checks/api-reports.mjs";

/** Writes the API reports: what each entry of the public packages exports. */
export const run = () => (apiReports({ write: true }) ? 0 : 1);
