/**
 * The equations of Einsum, in ONNX's grammar: a term of letters per operand, `...` for axes that broadcast, and the
 * letters of the result after `->`. Letters that the result lacks are summed over; a letter that a term repeats takes
 * the diagonal. Without `->` the result has the letters that occur once, in alphabetical order.
 */
import { MpError, shapeMismatch } from "../errors.js";
import { formatShape, type Shape } from "../shape.js";
import { shown } from "../shown.js";

const ELLIPSIS = "...";
const TERM = /^[A-Za-z]*(?:\.\.\.[A-Za-z]*)?$/;
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

interface Equation {
  /** The equation in quotes, for messages. */
  readonly text: string;
  readonly terms: readonly string[];
  readonly output: string;
}

/**
 * The computation of an equation on operands of given shapes. Every label is one letter; the axes of an ellipsis get
 * letters, too.
 */
export interface Contraction {
  /** The label of each axis of each operand; undefined for an axis of size 1 that broadcasts. */
  readonly operands: readonly (readonly (string | undefined)[])[];
  /** The labels of the result's axes, each once. */
  readonly output: string;
  readonly sizes: ReadonlyMap<string, number>;
}

/**
 * Returns the equation without spaces and with an explicit result.
 * @throws MP_INVALID_ARGUMENT for an equation outside the grammar
 */
export function explicitEquation(equation: string): string {
  const { terms, output } = parseEquation(equation);
  return `${terms.join()}->${output}`;
}

/**
 * The contraction that an equation denotes on operands of the given shapes.
 * @throws MP_INVALID_ARGUMENT for an equation outside the grammar or for a wrong number of operands,
 *   MP_SHAPE_MISMATCH for an operand of another rank than its term and for a letter of two sizes
 */
export function readContraction(equation: string, shapes: readonly Shape[]): Contraction {
  const parts = parseEquation(equation);
  const { text, terms, output } = parts;
  if (terms.length !== shapes.length) {
    const [wanted, got] = [`${terms.length} term${terms.length === 1 ? "" : "s"}`, shapes.length];
    throw invalid(text, `has ${wanted}, got ${got} operand${got === 1 ? "" : "s"}`);
  }
  const broadcast = broadcastLetters(parts, equation, shapes);
  const labels = terms.map((term, index) =>
    expandLabels(parts, term, shapes[index] as Shape, index, broadcast),
  );
  const sizes = labelSizes(parts, labels, shapes, broadcast);
  if (broadcast !== "" && !output.includes(ELLIPSIS))
    throw invalid(text, "leaves out of its result the axes that ... stands for");
  return {
    operands: labels.map((term, index) =>
      [...term].map((label, axis) =>
        shapes[index]?.[axis] === 1 && sizes.get(label) !== 1 ? undefined : label,
      ),
    ),
    output: output.replace(ELLIPSIS, broadcast),
    sizes,
  };
}

/**
 * The equation without ellipses, if it multiplies two operands and has no diagonals and no axes that broadcast or are
 * empty; all engines agree on such an Einsum. Undefined otherwise.
 */
export function plainEquation(equation: string, shapes: readonly Shape[]): string | undefined {
  const { operands, output, sizes } = readContraction(equation, shapes);
  const isPlain =
    operands.length === 2 &&
    operands.every((axes) => !axes.includes(undefined) && new Set(axes).size === axes.length) &&
    ![...sizes.values()].includes(0);
  return isPlain ? `${operands.map((axes) => axes.join("")).join()}->${output}` : undefined;
}

function parseEquation(equation: string): Equation {
  const text = shown(equation);
  const [left = "", right, ...more] = equation.replaceAll(" ", "").split("->");
  if (more.length > 0) throw invalid(text, "has more than one ->");
  const terms = left.split(",");
  for (const term of right === undefined ? terms : [...terms, right]) {
    if (!TERM.test(term))
      throw invalid(text, `has the term ${shown(term)}; a term is letters and at most one ...`);
  }
  const output = right ?? implicitOutput(terms);
  const letters = [...output.replace(ELLIPSIS, "")];
  for (const letter of letters) {
    if (!terms.some((term) => term.includes(letter)))
      throw invalid(text, `has the letter ${letter} in its result and in no operand`);
  }
  if (new Set(letters).size < letters.length)
    throw invalid(text, `repeats a letter in its result ${shown(output)}`);
  return { text, terms, output };
}

function implicitOutput(terms: readonly string[]): string {
  const all = terms.join("");
  const once = [...LETTERS].filter((letter) => all.split(letter).length === 2);
  return `${all.includes(ELLIPSIS) ? ELLIPSIS : ""}${once.join("")}`;
}

/**
 * The number of axes that each term's ellipsis stands for; undefined for a term without an ellipsis, and negative
 * where the operand has fewer axes than the term has letters.
 */
export function ellipsisRanks(equation: string, shapes: readonly Shape[]): readonly (number | undefined)[] {
  const { terms } = parseEquation(equation);
  return terms.map((term, index) =>
    term.includes(ELLIPSIS) ? (shapes[index]?.length ?? 0) - (term.length - ELLIPSIS.length) : undefined,
  );
}

/** Letters that the equation does not use, one for each axis that its ellipses stand for. */
function broadcastLetters({ text, terms }: Equation, equation: string, shapes: readonly Shape[]): string {
  const ranks = ellipsisRanks(equation, shapes);
  const first = ranks.findIndex((rank) => rank !== undefined && rank >= 0);
  const count = ranks[first] ?? 0;
  ranks.forEach((rank, index) => {
    if (rank === undefined || rank < 0 || rank === count) return;
    throw mismatch(
      text,
      `... stands for ${count} axes in operand ${first} and for ${rank} in operand ${index}`,
    );
  });
  const free = [...LETTERS].filter((letter) => !terms.some((term) => term.includes(letter)));
  if (count > free.length) throw invalid(text, `needs more than ${LETTERS.length} different axes`);
  return free.slice(0, count).join("");
}

function expandLabels(
  { text }: Equation,
  term: string,
  shape: Shape,
  index: number,
  broadcast: string,
): string {
  const letters = term.replace(ELLIPSIS, "").length;
  const isOpen = term.includes(ELLIPSIS);
  if (isOpen ? shape.length < letters : shape.length !== letters) {
    throw mismatch(
      text,
      `operand ${index} of ${formatShape(shape)} has ${shape.length} axes, its term ${shown(term)} ${isOpen ? "at least " : ""}${letters}`,
    );
  }
  return term.replace(ELLIPSIS, broadcast);
}

function labelSizes(
  { text }: Equation,
  labels: readonly string[],
  shapes: readonly Shape[],
  broadcast: string,
): ReadonlyMap<string, number> {
  const sizes = new Map<string, { readonly size: number; readonly operand: number }>();
  labels.forEach((term, operand) => {
    [...term].forEach((label, axis) => {
      const size = shapes[operand]?.[axis] as number;
      const known = sizes.get(label);
      const repeats = broadcast.includes(label);
      if (known === undefined || (repeats && known.size === 1)) sizes.set(label, { size, operand });
      else if (known.size !== size && !(repeats && size === 1)) {
        const what = repeats ? "an axis of ..." : label;
        throw mismatch(
          text,
          `${what} is ${known.size} in operand ${known.operand} and ${size} in operand ${operand}`,
        );
      }
    });
  });
  return new Map([...sizes].map(([label, { size }]) => [label, size]));
}

function invalid(text: string, message: string): MpError<"MP_INVALID_ARGUMENT"> {
  return new MpError("MP_INVALID_ARGUMENT", `Einsum: equation ${text} ${message}`);
}

function mismatch(text: string, message: string): MpError<"MP_SHAPE_MISMATCH"> {
  return shapeMismatch(`Einsum: equation ${text}: ${message}`);
}
