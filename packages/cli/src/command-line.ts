import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { type CommonOptions, commonFlags } from "./common-flags.js";
import { type Flag, FlagError, type Flags, type FlagValues, flagName } from "./flag.js";
import { pathProblem } from "./paths.js";

/** The name of an app, and its flags besides the common ones. */
export interface AppDefinition<F extends Flags = Flags> {
  readonly name: string;
  /** Description for `--help`, one sentence. */
  readonly description: string;
  /** Defaults of common flags that differ in this app. */
  readonly defaults?: Partial<CommonOptions>;
  readonly flags: F;
}

/** The values of all flags, by their names in camel case. */
export type AppOptions<F extends Flags = Record<never, never>> = CommonOptions & FlagValues<F>;

/** The options of a definition: `type Options = OptionsOf<typeof definition>`. */
export type OptionsOf<D> = D extends AppDefinition<infer F> ? AppOptions<F> : never;

export type ParsedCommandLine<F extends Flags> =
  | { readonly kind: "run"; readonly options: AppOptions<F> }
  | { readonly kind: "help"; readonly text: string }
  /** The message is one line, without the app's name. */
  | { readonly kind: "refused"; readonly message: string };

const OWN_HEADING = "Flags of this app:";
const COMMON_HEADING = "Flags of all apps:";

/** Returns its argument, with the types of the flags inferred. */
export function defineApp<const F extends Flags>(definition: AppDefinition<F>): AppDefinition<F> {
  return definition;
}

/** Parses the part of a command line after `node main.js`. Looks at files only to check whether paths exist. */
export function parseCommandLine<F extends Flags>(
  definition: AppDefinition<F>,
  argv: readonly string[],
): ParsedCommandLine<F> {
  const { name, description, flags, defaults = {} } = definition;
  let output = "";
  const command = new Command(name)
    .description(description)
    .usage("[flags]")
    .addHelpOption(new Option("-h, --help", "show this").helpGroup(COMMON_HEADING))
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({ writeOut: (text) => (output += text), writeErr: () => {} });
  const common: Flags = { ...commonFlags, ...overridden(defaults) };
  for (const [key, flag] of Object.entries(flags)) command.addOption(toOption(key, flag, OWN_HEADING));
  for (const [key, flag] of Object.entries(common)) command.addOption(toOption(key, flag, COMMON_HEADING));
  try {
    command.parse(argv, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.code === "commander.helpDisplayed") return { kind: "help", text: output };
    return { kind: "refused", message: oneLine(error.message) };
  }
  const given: Readonly<Record<string, unknown>> = command.opts();
  const values = Object.entries({ ...common, ...flags }).map(([key, flag]) => [
    key,
    given[key] ?? flag.default,
  ]);
  const options = Object.fromEntries(values) as AppOptions<F>;
  const problem = combinationProblem(options) ?? pathProblem(options);
  return problem === undefined ? { kind: "run", options } : { kind: "refused", message: problem };
}

function overridden(defaults: Partial<CommonOptions>): Flags {
  const entries = Object.entries(defaults).map(([key, value]) => {
    const flag: Flag<unknown> = commonFlags[key as keyof typeof commonFlags];
    return [key, { ...flag, default: value }];
  });
  return Object.fromEntries(entries) as Flags;
}

function toOption(key: string, flag: Flag<unknown>, heading: string): Option {
  const name = flagName(key);
  const option = new Option(flag.argument === undefined ? name : `${name} <${flag.argument}>`, flag.help);
  option.helpGroup(heading);
  if (flag.argument === undefined) return option;
  if (flag.default !== undefined) option.default(flag.default, String(flag.default));
  return option.argParser((text: string): unknown => {
    try {
      return flag.parse(text);
    } catch (error) {
      if (!(error instanceof FlagError)) throw error;
      throw new InvalidArgumentError(error.message);
    }
  });
}

function combinationProblem({ lossScale, initialScale }: CommonOptions): string | undefined {
  if (initialScale !== undefined && lossScale !== undefined && lossScale !== "dynamic") {
    return `--initial-scale ${initialScale}: belongs to --loss-scale dynamic, not to ${lossScale}`;
  }
  return undefined;
}

/** Joins the lines of a message, because commander puts its suggestion on a second line. */
function oneLine(message: string): string {
  return message
    .replace(/^error: /, "")
    .replace(/\s*\n\s*/g, " ")
    .trim();
}
