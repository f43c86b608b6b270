#!/bin/sh
# measure.sh RUN DIR runs every entry of the PTX files beside this one on a GPU, and
# leaves its buffer in DIR/ENTRY.bin, where it finds it as well: the entry reads its inputs
# out of it and overwrites its results. RUN is the runner, built of
# ../../testdata/gpu/run.cpp as that says.
run=$1 dir=$2 here=$(dirname "$0")

for file in "$here"/*.ptx; do
	ctas=2
	case $file in */move.ptx | */wmma.ptx) ctas=1 ;; esac
	sed -n 's/^\.visible \.entry \([a-z0-9_]*\)(.*/\1/p' "$file" | while read -r entry; do
		end=$("$run" "$file" "$entry" "$ctas" 32 1 0 0 4000 "$dir/$entry" "buf:@$dir/$entry.bin" </dev/null)
		echo "$entry: $end"
		[ "$end" = completed ] && mv "$dir/$entry.0" "$dir/$entry.bin"
	done
done
