import { apiReports } from "../checks/api-reports.mjs";

/** Writes the reports of what the entries of packages export. */
export const run = () => (apiReports({ write: true }) ? 0 : 1);
