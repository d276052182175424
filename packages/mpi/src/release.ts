/** The release of MPICH that is installed and tested. */
export const VERSION = "5.0.2";
/** SHA-256 in the index of mpich-5.0.2-py3-none-manylinux_2_28_x86_64.whl. */
export const WHEEL_SHA256 = "8fed465ebff269ea2ebac179a25de02671ddf8df476e0f115be089015015cfd4";
