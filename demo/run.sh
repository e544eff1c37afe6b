#!/usr/bin/env bash
# A mail server's I/O on an aged client drive of today under two schedules of garbage collection, with a report. Options that are
# given go to `ftlab compare`. Run it in the directory above, with `ftlab` on the path.
set -eu
out=${OUT:-out/demo}
trace=traces/varmail-220k.csv.zst
echo "Six passes of $trace at its own times, on an aged client TLC drive of 23 GiB, two GC schedules:"; echo
# The preset with a part of its flash, of which six passes overwrite enough for a write amplification of the load's own.
ftlab compare demo/schedules/threshold.toml demo/schedules/paced.toml --trace $trace --set host.replay=open --set workload.rounds=6 \
    --set device.blocks_per_plane=152 --set device.pages_per_block=96 --set device.over_provisioning=15% --out "$out" "$@"
ftlab report "$out" --out "$out.html"
