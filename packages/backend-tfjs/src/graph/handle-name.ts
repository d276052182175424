/** The name of a variable's handle, as `variableNodes` creates it. */
export const handleName = (key: string): string => `variable/${key}/VarHandleOp`;
