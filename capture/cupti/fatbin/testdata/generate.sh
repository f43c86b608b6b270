#!/bin/sh
# Makes the fat binaries here and the cubins of ../../cubin/testdata. It was run
# with CUDA 13.0 (nvcc V13.0.88) and GNU binutils; no GPU is needed.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# section FILE NAME SECTION: the section's bytes, without the gap before them.
section() {
    set -- "$1" "$2" $(readelf -SW "$1" | sed 's/^ *\[ *[0-9]*\] *//' | awk -v s="$3" '$1 == s { print $4, $5 }')
    dd if="$1" of="$2" iflag=skip_bytes,count_bytes skip=$((0x$3)) count=$((0x$4)) status=none
}

# object NAME OPTIONS...: the fat binary of handoff.cu.
object() {
    name=$1
    shift
    nvcc "$@" -c handoff.cu -o "$work/$name.o"
    section "$work/$name.o" "$name.fatbin" "${section:-.nv_fatbin}"
}

object none -arch=sm_90 --compress-mode=none
object default -arch=sm_90
object size -arch=sm_90 --compress-mode=size
object speed -arch=sm_90 --compress-mode=speed
object ptx -gencode arch=compute_90,code=compute_90
object specific -arch=sm_90a --compress-mode=size
object several --compress-mode=size -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 \
    -gencode arch=compute_90a,code=sm_90a -gencode arch=compute_90,code=compute_90
object family --compress-mode=size -gencode 'arch=compute_100f,code=[sm_100f,compute_100f]' \
    -gencode 'arch=compute_120,code=[sm_120,compute_120]' -gencode 'arch=compute_100a,code=[sm_100a,compute_100a]'
object options -arch=sm_90 --compress-mode=size -Xptxas -O1 -maxrregcount=40 -use_fast_math -lineinfo
object debug -arch=sm_90 -G
section=__nv_relfatbin object relocatable -arch=sm_90 -rdc=true
section=__nv_relfatbin object lto -arch=sm_90 -dlto

for mode in whole: linked:-rdc=true ltolinked:-dlto; do
    nvcc -arch=sm_90 --compress-mode=size ${mode#*:} handoff.cu main.cu -o "$work/program"
    section "$work/program" "${mode%:*}.fatbin" .nv_fatbin
done

cubins=../../cubin/testdata
nvcc -arch=sm_90 -cubin -lineinfo handoff.cu -o $cubins/lineinfo.cubin
nvcc -arch=sm_90 -cubin -G handoff.cu -o $cubins/debug.cubin
nvcc -arch=sm_90 -cubin handoff.cu -o $cubins/plain.cubin
nvcc -arch=sm_90 -cubin -rdc=true handoff.cu -o $cubins/relocatable.cubin
nvdisasm -c $cubins/lineinfo.cubin >$cubins/lineinfo.sass
nvdisasm -c $cubins/debug.cubin >$cubins/debug.sass
nvdisasm -c -g $cubins/lineinfo.cubin >$cubins/lineinfo.lines
cuobjdump -res-usage $cubins/lineinfo.cubin | sed '/^$/d' >$cubins/lineinfo.resources
