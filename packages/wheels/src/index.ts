export { fetchWithPip, type PipRequest } from "./fetch-with-pip.js";
export { errorCode, fileFailure, requireSpace, type SpaceNeed } from "./file-failure.js";
export { requireDigest, sha256Of } from "./file-sum.js";
export { installPinned, type PinnedOptions } from "./install-pinned.js";
export { linkOrCopy, partialPath, publishFolder, sweepPartials, withdrawFolder } from "./publish.js";
export { megabytes, type Report, since } from "./report.js";
export { type CommandResult, runCommand } from "./run-command.js";
export { printStep, runCommandLine } from "./run-command-line.js";
export { openWheel, type WheelArchive } from "./wheel-archive.js";
