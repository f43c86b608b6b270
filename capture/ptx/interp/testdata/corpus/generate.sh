#!/bin/bash
# Makes the PTX of this folder from its sources, its inputs, and the outputs of
# table.txt on an H100. The tests need none of this: everything it makes is
# committed. Run it in this folder:
#
#	./generate.sh inputs        in/*.bin
#	./generate.sh clang         clang/*.ptx; Debian 12, packages clang (14) and clang-19
#	./generate.sh nvcc          nvcc/*.ptx, nvcc-G/*.ptx, nvcc-O1/*.ptx; CUDA 13.0
#	./generate.sh triton        triton/*.ptx; Triton 3.6, PyTorch, an H100
#	./generate.sh outputs       out/*, by every row of table.txt; an H100, run.cpp
#	./generate.sh check         the same, into a temporary folder, and compares
#
# Paths of source files are cut to their base names, and debug sections that say
# where the compiler ran are cut out.
set -eu
cd "$(dirname "$0")"
CUDA=${CUDA:-/usr/local/cuda}

inputs() {
  python3 - <<'PY'
import struct
def mix(x):
    x ^= x >> 16
    x = x * 0x7feb352d & 0xffffffff
    x ^= x >> 15
    x = x * 0x846ca68b & 0xffffffff
    return x ^ x >> 16
h = [mix(i + 1) for i in range(4096)]
open("in/ints.bin", "wb").write(struct.pack("<1024i", *[v % 2001 - 1000 for v in h[:1024]]))
open("in/floats.bin", "wb").write(struct.pack("<1024f", *[(v >> 8) / 8388608 - 1 for v in h[:1024]]))
open("in/halves.bin", "wb").write(struct.pack("<4096e", *[(v % 65 - 32) / 16 for v in h]))
PY
}

# neutral cuts the paths in a PTX file.
neutral() {
  sed -i -E 's|^(\s*\.file\s+[0-9]+ )"[^"]*/|\1"|; s|^// (Compiler Build ID\|Cuda compilation tools).*||; s|// \./|// |' "$@"
}

clang_all() {
  local f flags="-x cuda --cuda-device-only -nocudainc -nocudalib -S -O2"
  for f in reduce named warp math mbar mma; do
    clang $flags --cuda-gpu-arch=sm_80 -Xclang -target-feature -Xclang +ptx71 $f.cu -o clang/$f.ptx
  done
  clang-19 $flags --cuda-gpu-arch=sm_80 --cuda-feature=+ptx70 calls.cu -o clang/calls.ptx
  clang-19 $flags --cuda-gpu-arch=sm_90 --cuda-feature=+ptx81 -gline-tables-only tma.cu -o clang/tma.ptx
  for f in cluster bugs; do clang-19 $flags --cuda-gpu-arch=sm_90 --cuda-feature=+ptx81 $f.cu -o clang/$f.ptx; done
  neutral clang/*.ptx
}

nvcc_all() {
  local flags="-ptx -std=c++17 -arch=sm_90" f
  mkdir -p nvcc nvcc-G nvcc-O1
  for f in barriers bugs calls cluster mbar mma named reduce tma warp; do $CUDA/bin/nvcc $flags -O3 -lineinfo $f.cu -o nvcc/$f.ptx & done
  for f in groups library math memory pipeline; do $CUDA/bin/nvcc $flags -O3 $f.cu -o nvcc/$f.ptx & done
  for f in reduce named mbar; do $CUDA/bin/nvcc $flags -G $f.cu -o nvcc-G/$f.ptx & done
  for f in calls cluster; do $CUDA/bin/nvcc $flags -Xcicc -O1 $f.cu -o nvcc-O1/$f.ptx & done
  wait
  sed -i -E '/^\s*\.section\s+\.debug_(info|abbrev|pubnames|pubtypes|ranges|aranges|frame|loc)/,/^\s*\}/d' nvcc-G/*.ptx
  neutral nvcc/*.ptx nvcc-G/*.ptx nvcc-O1/*.ptx
}

# outputs runs the rows of the table and writes what they leave to the folder $1.
outputs() {
  local run=$(mktemp -d)
  g++ -O1 -I$CUDA/include -o $run/run ../../../testdata/gpu/run.cpp -L$CUDA/lib64/stubs -lcuda
  grep -v '^#' table.txt | grep . | xargs -P 8 -d '\n' -n 1 bash -c 'row() {
    local name=$1 ptx=$2 entry=$3 grid=$4 block=$5 cluster=$6 shared=$7 coop=$8 end=$9
    shift 11
    local args=() file n limit=20000
    while [ $# -gt 0 ] && [ "$1" != "=>" ]; do args+=("$1"); shift; done
    case $end in hung*) limit=1500 ;; esac
    local got=$('$run'/run $ptx $entry $grid $block $cluster $shared $coop $limit '$run'/$name "${args[@]}")
    got=${got// /-}
    [ "$got" = "$end" ] && echo "ok $name $got" || echo "DIFFERS $name: $got, table: $end"
    [ $# -gt 0 ] && shift
    for file; do
      n=${file%%=*}; file=${file#*=}; file=${file%%,*}
      [ -f '$run'/$name.$n ] || continue
      [ -f '$1'/$(basename $file) ] && ! cmp -s '$run'/$name.$n '$1'/$(basename $file) && echo "UNLIKE $name $n $file: $(cmp -l '$run'/$name.$n '$1'/$(basename $file) | wc -l) bytes"
      [ -f '$1'/$(basename $file) ] || cp '$run'/$name.$n '$1'/$(basename $file)
    done
    true
  }; row $0'
  rm -r $run
}

case ${1:-} in
  inputs) inputs ;;
  clang) clang_all ;;
  nvcc) nvcc_all ;;
  triton)
    mkdir -p triton
    python3 kernels.py triton
    sed -i -E '/^\s*\.section\s+\.debug_info/,/^\s*\}/d' triton/*.ptx
    neutral triton/*.ptx ;;
  outputs) mkdir -p out; rm -f out/*; outputs out ;;
  check) d=$(mktemp -d); cp out/* $d; outputs $d; rm -r $d ;;
  *) sed -n '2,/^set/p' "$0" | grep '^#'; exit 2 ;;
esac
