#!/bin/sh
# Unpacks this folder's archives and measures the machine: probes, conformance, training steps beside PyTorch.
# Needs nothing but sh, tar, gzip and sha256sum; with --device cuda NVIDIA's driver, CUDA 13 and cuDNN 9 as well, with
# --device webgpu a Vulkan driver and its loader, libvulkan.so.1.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
work=$here/unpacked
device=cuda
python=${PEER_PYTHON:-}
case " $* " in *" --help "*) set -- --help ;; esac

usage() {
  cat <<TEXT
sh run.sh [flags]
  --device NAME       cuda, webgpu or cpu; default cuda
  --work DIR          where to unpack; default unpacked, beside this script
  --python PATH       interpreter whose PyTorch to run beside; default python3, where there is one
  --out FILE          the result; default gpu-result.json in the current folder
  --small             a few steps of each, to see that everything runs; its figures mean nothing
  --only PART,...     of xla, probe, word-lm, encoder, resnet-50, operators, conformance, largest-batch, fused-lstm,
                      torch-compile, workloads, app; default all, the most important jobs first
  --rounds N          processes of each side; default 3
  --minutes N         start nothing after this time, and say what is left
  --resume            run only what the file of --out does not have yet
  --plan              print what would run, and run nothing
TEXT
}

needs_value() { [ $# -ge 2 ] || { echo "run.sh: $1 needs a value" >&2; exit 2; }; }

out=gpu-result.json more=
while [ $# -gt 0 ]; do
  case $1 in
    --device) needs_value "$@"; device=$2; shift 2 ;;
    --work) needs_value "$@"; work=$2; shift 2 ;;
    --python) needs_value "$@"; python=$2; shift 2 ;;
    --out) needs_value "$@"; out=$2; shift 2 ;;
    --only | --rounds | --minutes)
      needs_value "$@"
      case $2 in -* | *[!a-z0-9,.-]*) echo "run.sh: $1 takes no spaces or other signs, got $2" >&2; exit 2 ;; esac
      more="$more $1 $2"; shift 2 ;;
    --small | --resume | --plan) more="$more $1"; shift ;;
    --help) usage; exit 0 ;;
    *) echo "run.sh: unknown flag $1" >&2; usage >&2; exit 2 ;;
  esac
done
case $device in cpu | cuda | webgpu) ;; *) echo "run.sh: --device is cuda, webgpu or cpu, got $device" >&2; exit 2 ;; esac

if ! (cd "$here" && sha256sum --quiet -c SHA256SUMS); then
  echo "run.sh: this folder is not as it was packed; copy it again, or make another by: gpu pack DIR" >&2
  exit 2
fi
if [ "$device" = cuda ] && ! ls "$here"/cuda.tar.gz* > /dev/null 2>&1; then
  echo "run.sh: this pack has no CUDA libraries; make one without --without-cuda, or pass --device cpu" >&2
  exit 2
fi
mkdir -p "$work"
# What lies there already is not unpacked again.
if ! cmp -s "$here/SHA256SUMS" "$work/SHA256SUMS"; then
  for name in mp node cuda xla; do
    # Pieces are numbered, so that their order is that of their names.
    if ls "$here/$name.tar.gz"* > /dev/null 2>&1; then cat "$here/$name.tar.gz"* | tar -xzf - -C "$work"; fi
  done
  cp "$here/SHA256SUMS" "$work/SHA256SUMS"
fi

[ -n "$python" ] || python=$(command -v python3 || true)
# CUDA that came with PyTorch's packages lies in folders that the loader does not search.
libraries=${LD_LIBRARY_PATH:-}
for folder in /usr/local/cuda/lib64 $( [ -z "$python" ] || "$python" -c '
import glob, sys
print(*(f for p in sys.path for f in glob.glob(p + "/nvidia/*/lib")))' 2> /dev/null || true); do
  if [ -d "$folder" ]; then libraries=${libraries:+$libraries:}$folder; fi
done
# XLA's plugin: the one that is named, that of the pack, or JAX's. What it finds by trying kernels is kept beside the
# result, and tried once.
if [ "$device" = cuda ]; then
  plugin=jax_plugins/xla_cuda13/xla_cuda_plugin.so
  for found in "$work/xla/$plugin" $( [ -z "$python" ] || "$python" -c '
import glob, sys
print(*(f for p in sys.path for f in glob.glob(p + "/'$plugin'")))' 2> /dev/null || true); do
    if [ -z "${MP_XLA_PLUGIN:-}" ] && [ -f "$found" ]; then export MP_XLA_PLUGIN="$found"; fi
  done
  mkdir -p "$out.tuning"
  export XLA_FLAGS="--xla_gpu_per_fusion_autotune_cache_dir=$(cd "$out.tuning" && pwd) ${XLA_FLAGS:-}"
fi
# TF32 would make float32 something else: the backend and the peers turn it off themselves. NVIDIA_TF32_OVERRIDE=0 is
# not for ONNX Runtime: with it cuDNN finds no algorithm for some convolutions.
unset NVIDIA_TF32_OVERRIDE
export LD_LIBRARY_PATH="$libraries"

# $more holds flags and single words.
# shellcheck disable=SC2086
exec "$work/node/bin/node" "$work/tools/gpu/measure.mjs" \
  --device "$device" --out "$out" ${python:+--python "$python"} $more
