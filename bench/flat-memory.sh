#!/bin/sh
# Runs an experiment for some seconds, prints the resident memory of the process every ten, and fails if it grows by more
# than 2% after the first minute: flat-memory.sh RADDLE SECONDS EXPERIMENT [ARGUMENT]...
set -eu
raddle=$1 seconds=$2 experiment=$3
shift 3
folder=$(mktemp -d)
"$raddle" run "$experiment" --out "$folder/run" --quiet "$@" >"$folder/log" 2>&1 &
run=$!
trap 'kill -INT $run 2>/dev/null || true; wait $run || true; rm -rf "$folder"' EXIT
resident() { awk '/^VmRSS:/ { print $2 }' "/proc/$run/status" 2>/dev/null; }
at=0 first='' most=0
while [ "$at" -lt "$seconds" ]; do
    sleep 10
    at=$((at + 10))
    now=$(resident)
    if [ -z "$now" ]; then
        echo "the run ended after less than $at s:"
        cat "$folder/log"
        exit 1
    fi
    echo "$at s: $now KiB"
    [ "$at" -lt 60 ] && continue
    first=${first:-$now}
    [ "$now" -gt "$most" ] && most=$now
done
echo "after the first minute $first KiB, at most $most KiB since"
[ $((most * 100)) -le $((first * 102)) ] || { echo "it grew by more than 2%"; exit 1; }
