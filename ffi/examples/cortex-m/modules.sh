#!/bin/sh
# What takes the bytes of a linked program: sums over the modules of core, the largest first.
#
#   ffi/examples/cortex-m/modules.sh target/thumbv7em-none-eabihf/sizes/size_all
set -eu
nm --demangle --print-size --radix=d "$1" | awk '
    $3 !~ /^[tTrR]$/ { next }
    {
        name = $0
        sub(/^[0-9]+ [0-9]+ . /, "", name)
        if (match(name, /nanoembed_core::[a-z_0-9]+::[a-z_0-9]+/)) module = substr(name, RSTART, RLENGTH)
        else if (name ~ /nanoembed/) module = "nanoembed-ffi"
        else if (name ~ /^\.L/) module = "constants without a name"
        else if (name ~ /compiler_builtins|^__|^mem/) module = "compiler_builtins"
        else module = "Rust core, libm, and the rest"
        bytes[module] += $2
        all += $2
    }
    END {
        for (module in bytes) printf "%7d %s\n", bytes[module], module
        printf "%7d in all\n", all
    }' | sort -rn
