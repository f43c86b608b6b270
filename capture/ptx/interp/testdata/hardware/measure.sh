#!/bin/sh
# measure.sh RUN DIR runs every program of table.txt on a GPU and writes what it leaves in
# its buffer to DIR/NAME.out. RUN is the runner, built of ../../../testdata/gpu/run.cpp as
# that says.
run=$1 out=$2 dir=$(dirname "$0")

grep -v '^#' "$dir/table.txt" | while read -r name ctas threads cluster bytes; do
	echo "$name $("$run" "$dir/$name.ptx" k "$ctas" "$threads" "$cluster" 0 0 4000 "$out/$name" "buf:$bytes" </dev/null)"
	[ -f "$out/$name.0" ] && mv "$out/$name.0" "$out/$name.out"
done
