#!/usr/bin/env bash
# under.sh DROPIN FOLDER COMMAND...: runs a command under the drop-in, with the driver in FOLDER. A drop-in whose file is called
# libcuda.so.1 is found in front of the driver; another is loaded before the program.
set -eu
dropin=$1 folder=$2
shift 2
unset STREAMPOOL_DRIVER # which the forwarding form obeys

case $dropin in
*/libcuda.so.1) exec env LD_LIBRARY_PATH="${dropin%/*}:$folder" "$@" ;;
*) exec env LD_LIBRARY_PATH="$folder" LD_PRELOAD="$dropin" "$@" ;;
esac
