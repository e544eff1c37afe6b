#!/bin/sh
# Records the requests of a block device as a trace for ftlab: kind, flags, place, size and time of each, no data.
#
#   sh capture.sh DEVICE [SECONDS [REQUESTS]]
#
# DEVICE is a whole disk such as /dev/nvme0n1. It ends after SECONDS (3600), or after REQUESTS (10000000), which are at
# most 1.3 GB of text before it is packed; Ctrl-C ends it sooner, and what is recorded stays. It needs root, and nothing
# installed: it reads the kernel's block events with bpftrace, else from tracefs, else with blktrace (TOOL=tracefs has it
# take that one). Where none of them may be used, the iolog of fio records fio's own jobs.
#
# At its end it says what it cost: processor time, and the size of the file.
set -eu
LC_ALL=C
export LC_ALL

fail() { printf 'capture: %s\n' "$1" >&2; exit 2; }

number() {
    case $1 in '' | *[!0-9]* | 0*) fail "$2 is \`$1\`; expected a whole number from 1 on" ;; esac
}

[ $# -ge 1 ] || fail 'no device; expected: sh capture.sh DEVICE [SECONDS [REQUESTS]]'
device=$1 seconds=${2:-3600} most=${3:-10000000}
number "$seconds" SECONDS
number "$most" REQUESTS
[ -b "$device" ] || fail "$device is no block device; expected one such as /dev/nvme0n1"
[ "$(id -u)" = 0 ] || fail 'block events are for root; expected: sudo sh capture.sh …'
path=$(readlink -f "$device")
name=${path##*/}
[ -d "/sys/block/$name" ] || fail "$device is a part of a disk; expected the whole disk"
numbers=$(cat "/sys/block/$name/dev")
major=${numbers%:*} minor=${numbers#*:}
number_of_device=$((major * 1048576 + minor))
# What has no queue of its own, such as a mapped device, has no issues: its requests are those that are queued.
event=block_rq_issue
[ -d "/sys/block/$name/mq" ] || event=block_bio_queue

tracing=/sys/kernel/tracing
instance=$tracing/instances/ftlab-$$
has() { command -v "$1" > /dev/null 2>&1; }
# It may be there and not be allowed to load a program.
has_bpftrace() { has bpftrace && bpftrace -e 'BEGIN { printf("fine"); exit(); }' 2> /dev/null | grep -q fine; }
has_tracefs() {
    [ -d "$tracing/events/block" ] || mount -t tracefs nodev "$tracing" 2> /dev/null || return 1
    mkdir "$instance" 2> /dev/null
}
has_blktrace() { has blktrace && has blkparse; }

tool=
for each in ${TOOL:-bpftrace tracefs blktrace}; do
    if "has_$each"; then tool=$each; break; fi
done
[ -n "$tool" ] || fail 'none of bpftrace, tracefs and blktrace can be used here; fio records its own jobs with write_iolog=FILE'

out=capture-$name-$(date -u +%Y%m%dT%H%M%SZ).txt
if has gzip; then out=$out.gz pack='gzip -1'; else pack=cat; fi

finish() {
    trap - EXIT INT TERM
    if [ -d "$instance" ]; then
        echo 0 > "$instance/events/enable" || true
        lost=$(cat "$instance"/per_cpu/cpu*/stats | awk '/^(overrun|dropped events):/ { n += $NF } END { print n + 0 }')
        rmdir "$instance" || true
        [ "$lost" = 0 ] || echo "capture: $lost events were lost; the disk is too busy for tracefs here" >&2
    fi
    # A shell in a pipe would tell its own times.
    times > "$out.times"
    echo "capture: written to $out, $(wc -c < "$out") bytes; it took $(tail -n 1 "$out.times") of processor time, user and system" >&2
    rm -f "$out.times"
    echo "capture: next: ftlab trace info $out" >&2
}

by_bpftrace() {
    timeout $stays -s INT "$seconds" bpftrace -q -e "tracepoint:block:$event /args->dev == $number_of_device/ {
        printf(\"ftlab-1 [000] %llu.%09llu: $event: $major,$minor %s $1\n\", nsecs / 1000000000, nsecs % 1000000000,
            args->rwbs, $2args->sector, args->nr_sector); }"
}

by_tracefs() {
    echo 16384 > "$instance/buffer_size_kb"
    echo mono > "$instance/trace_clock"
    for each in $event block_rq_requeue; do
        echo "dev == $number_of_device" > "$instance/events/block/$each/filter"
        echo 1 > "$instance/events/block/$each/enable"
    done
    timeout $stays "$seconds" cat "$instance/trace_pipe"
}

record() {
    case $tool in
        bpftrace)
            if [ $event = block_rq_issue ]; then by_bpftrace '%d () %llu + %u [ftlab]' 'args->bytes, '
            else by_bpftrace '%llu + %u [ftlab]' ''; fi ;;
        tracefs) by_tracefs ;;
        blktrace) blktrace -w "$seconds" -d "$path" -o - | blkparse -q -i - ;;
    esac
}

# In a group of its own it would not hear of Ctrl-C.
stays=--foreground
timeout --foreground 1 true 2> /dev/null || stays=
echo "capture: $device for $seconds s or $most requests, with $tool; Ctrl-C ends it" >&2
trap finish EXIT
trap exit INT TERM
# Ctrl-C ends the recording, and not what writes it.
record | (trap '' INT TERM; head -n "$most" | $pack > "$out") || true
