#!/usr/bin/env bash
# A mail server's I/O on an aged client drive of today under five FTLs, with a report. Options that are given go to
# `ftlab compare`. Run it in the directory above, with `ftlab` on the path.
set -eu
out=${OUT:-out/demo}
trace=traces/varmail-220k.csv.zst
echo "Replaying $trace four times, at its own times, on an aged client TLC drive of 32 dies under five FTLs:"; echo
# The preset with a quarter of its flash, in smaller blocks: blocks that are held free are as small a part as of a whole drive.
# Backups and GCMix cover flash pages, so that these are mapped whole.
ftlab compare demo/threshold.toml demo/paced.toml demo/paced+TBM.toml demo/paced+TBM+GCMix.toml demo/GCF+TBM+GCMix.toml \
    --set device.blocks_per_plane=152 --set device.pages_per_block=96 --set device.over_provisioning=15% --set ftl.map_unit=page \
    --trace $trace --set host.replay=open --set workload.rounds=4 --out "$out" "$@"
ftlab report "$out" --out "$out.html"
