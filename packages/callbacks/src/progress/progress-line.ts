/** The state of a run after a step. */
export interface ProgressUpdate {
  /** Steps so far, including this one, since the start of the run. */
  readonly step: number;
  /** The loss; with objectives, the losses by name. */
  readonly loss: number | Readonly<Record<string, number>>;
  /** The loss scale; leave it out if there is none. */
  readonly scale?: number;
  /** Skipped steps so far. */
  readonly skipped: number;
  /** The last step of the run; omit it if the display has it already, or if it is unknown. */
  readonly total?: number | undefined;
  /** The current pass over the data, from 1, and the number of passes; leave it out if only steps are counted. */
  readonly pass?: readonly [pass: number, of: number];
}

export interface ProgressState extends ProgressUpdate {
  readonly label: string;
  readonly total: number | undefined;
  readonly stepsPerSecond: number | undefined;
}

const WIDEST_BAR = 24;
const NARROWEST_BAR = 6;

/** Formats a line for a terminal. It has at most `columns - 1` characters, because some terminals wrap a full line. */
export function formatBar(state: ProgressState, columns: number): string {
  const facts = listFacts(state).join("  ");
  const room = columns - 1 - state.label.length - facts.length - 2;
  const width = Math.min(WIDEST_BAR, room);
  const { total } = state;
  const drawn = width < NARROWEST_BAR || total === undefined ? "" : `${drawBar(state.step, total, width)} `;
  return `${state.label} ${drawn}${facts}`.slice(0, Math.max(1, columns - 1));
}

/** Formats a line for a log. */
export function formatLine(state: ProgressState): string {
  return `${state.label}: ${listFacts(state).join(", ")}`;
}

function drawBar(step: number, total: number, width: number): string {
  const done = total > 0 ? Math.min(1, Math.max(0, step / total)) : 1;
  const filled = Math.floor(done * width);
  return "█".repeat(filled) + "░".repeat(width - filled);
}

function listFacts({ step, total, pass, loss, scale, skipped, stepsPerSecond }: ProgressState): string[] {
  const facts = [
    total === undefined ? `step ${step}` : `step ${step}/${total}`,
    `loss ${formatLosses(loss)}`,
  ];
  if (pass !== undefined) facts.unshift(`pass ${pass[0]}/${pass[1]}`);
  if (scale !== undefined) facts.push(`scale ${formatScale(scale)}`);
  facts.push(`skipped ${skipped}`);
  if (stepsPerSecond !== undefined) {
    facts.push(`${formatRate(stepsPerSecond)} steps/s`);
    if (total !== undefined && stepsPerSecond > 0 && step < total)
      facts.push(`${formatTime((total - step) / stepsPerSecond)} left`);
  }
  return facts;
}

function formatLosses(losses: ProgressUpdate["loss"]): string {
  if (typeof losses === "number") return formatNumber(losses);
  return Object.entries(losses)
    .map(([name, loss]) => `${name} ${formatNumber(loss)}`)
    .join(" ");
}

/** Formats a loss or a metric. */
export function formatNumber(value: number): string {
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-3 || size >= 1e5) ? value.toExponential(3) : value.toFixed(4);
}

/** Formats a loss scale; large scales are usually powers of two and read best as such. */
function formatScale(scale: number): string {
  const exponent = Math.log2(scale);
  return Number.isInteger(exponent) && exponent >= 10
    ? `2^${exponent}`
    : String(Number(scale.toPrecision(4)));
}

function formatRate(rate: number): string {
  return rate >= 100 ? rate.toFixed(0) : rate.toPrecision(3);
}

function formatTime(seconds: number): string {
  const whole = Math.ceil(seconds);
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const twoDigits = (value: number): string => String(value).padStart(2, "0");
  return `${hours > 0 ? `${hours}:${twoDigits(minutes)}` : minutes}:${twoDigits(rest)}`;
}
