#!/usr/bin/env node
// The command of @mp/libxla. Some package managers link the commands of direct dependencies alone.
import "@mp/libxla/command";
