import { MpError } from "@mp/core";

/** Loads optional packages. @throws MP_BACKEND_UNAVAILABLE naming the command that installs them */
export async function loadReader<T>(what: string, packages: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    throw new MpError(
      "MP_BACKEND_UNAVAILABLE",
      `${what} is read by ${packages.replace(" ", " and ")}, which cannot be loaded; npm install ${packages}`,
      { details: { packages: packages.split(" ") }, cause },
    );
  }
}
