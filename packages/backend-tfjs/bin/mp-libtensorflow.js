#!/usr/bin/env node
// The command of @mp/libtensorflow. Some package managers link the commands of direct dependencies alone.
import "@mp/libtensorflow/command";
