import { runWordModelApp } from "./app.js";

await runWordModelApp(process.argv.slice(2));
