#!/usr/bin/env node
// Not in dist, so that a package manager that links commands finds it before anything is built.
import "../dist/mp-libxla.js";
