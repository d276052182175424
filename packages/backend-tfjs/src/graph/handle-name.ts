/** The name of a variable's handle, as `variableNodes` makes it. */
export const handleName = (key: string): string => `variable/${key}/VarHandleOp`;
