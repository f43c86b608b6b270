#!/bin/sh
# measure.sh RUN ROUNDS runs every row of table.txt on a GPU, ROUNDS times, and prints
# what came of it in lines of four fields: the row's id, how many runs ended so, the end,
# and what out held then (both written as in table.txt). RUN is the runner, built of
# ../../../testdata/gpu/run.cpp as that says.
run=$1 rounds=$2 dir=$(dirname "$0") tmp=$(mktemp -d)
trap 'rm -r "$tmp"' EXIT

for round in $(seq "$rounds"); do
	grep -v '^#' "$dir/table.txt" | while read -r id file threads ctas rest; do
		words=$((threads * ctas < 8 ? 8 : threads * ctas))
		end=$("$run" "$dir/$file" row "$ctas" "$threads" "$ctas" 0 0 4000 "$tmp/arg" "buf:$((4 * words))" </dev/null |
			sed 's/:an illegal instruction was encountered/:illegal instruction/; s/ /-/g')
		values=-
		if [ "$end" = completed ]; then
			values=$(od -An -v -td4 -w4 "$tmp/arg.0" | awk '
				NR > 1 && $1 == v { n++; next }
				NR > 1 { printf "%s%s,", v, (n > 1 ? "*" n : "") }
				{ v = $1; n = 1 }
				END { print v (n > 1 ? "*" n : "") }')
		fi
		echo "$id $end $values"
	done
done | sort -k1,1n -k2 | uniq -c | awk '{ print $2, $1, $3, $4 }'
