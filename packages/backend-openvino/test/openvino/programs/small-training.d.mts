import type { Backend } from "@mp/core";

export declare function smallTraining(backend: Backend): Promise<readonly number[]>;
