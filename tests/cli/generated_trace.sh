#!/usr/bin/env bash
# generated_trace.sh GENERATOR TRACE: the compressed trace is what the generator writes.
set -eu -o pipefail
"$1" | cmp - <(gzip -dc "$2")
