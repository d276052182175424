import { bench } from "../workspace/packages.mjs";
import { runApp } from "./app.mjs";

/** @param {readonly string[]} args */
export const run = (args) => runApp(bench(), args);
