#!/usr/bin/env node
// The command of @mp/libopenvino. Some package managers link the commands of direct dependencies alone.
import "@mp/libopenvino/command";
