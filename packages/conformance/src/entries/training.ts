/** Cases of whole training steps and runs, for every backend that users train on. */
export { trainingCases } from "../training/cases/training-cases.js";
