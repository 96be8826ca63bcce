#!/bin/sh
# Prints the octets, packets, errors, drops and link of every interface and adapter port, and
# the processors' times, for counters.py. Reads only; needs a POSIX shell.
counters() {
    for path in /sys/class/net/*; do
        [ -e "$path/statistics/tx_bytes" ] || continue
        printf 'net %s' "${path##*/}"
        for key in rx_bytes tx_bytes rx_packets tx_packets rx_errors tx_errors rx_dropped tx_dropped; do
            value=-
            { IFS= read -r value <"$path/statistics/$key"; } 2>/dev/null
            case $value in '' | *[!0-9]*) value=- ;; esac
            printf ' %s' "$value"
        done
        for key in operstate speed carrier_changes; do
            value=-
            { IFS= read -r value <"$path/$key"; } 2>/dev/null
            printf ' %s' "${value:--}"
        done
        printf '\n'
    done
    # A port's error counters and its driver's own counters, with their names. They come first: they
    # tell what its data counters count.
    for path in /sys/class/infiniband/*/ports/*; do
        [ -e "$path" ] || continue
        device=${path%/ports/*}
        printf 'names %s:%s' "${device##*/}" "${path##*/}"
        for file in "$path"/hw_counters/* "$path/counters/symbol_error" \
            "$path/counters/local_link_integrity_errors" \
            "$path/counters/excessive_buffer_overrun_errors" \
            "$path/counters/port_rcv_remote_physical_errors" \
            "$path/counters/port_rcv_constraint_errors" \
            "$path/counters/port_xmit_constraint_errors" "$path/counters/VL15_dropped"; do
            value=
            { IFS= read -r value <"$file"; } 2>/dev/null
            case $value in '' | *[!0-9]*) ;; *) printf ' %s=%s' "${file##*/}" "$value" ;; esac
        done
        printf '\n'
    done
    for path in /sys/class/infiniband/*/ports/*; do
        [ -e "$path/counters/port_xmit_data" ] || continue
        device=${path%/ports/*}
        printf 'port %s:%s' "${device##*/}" "${path##*/}"
        for key in port_rcv_data port_xmit_data port_rcv_packets port_xmit_packets \
            port_rcv_errors port_xmit_discards port_rcv_constraint_errors port_xmit_constraint_errors; do
            value=-
            { IFS= read -r value <"$path/counters/$key"; } 2>/dev/null
            # "N/A (no PMA)": what old kernels say of a driver without the standard's counters.
            case $value in '' | *[!0-9]*) value=- ;; esac
            printf ' %s' "$value"
        done
        for key in state rate counters/link_downed counters/link_error_recovery; do
            value=-
            { IFS= read -r value <"$path/$key"; } 2>/dev/null
            # "4: ACTIVE", "100 Gb/sec (4X EDR)"
            case $key in state) value=${value#*: } ;; rate) value=${value%% *} ;; esac
            printf ' %s' "${value:--}"
        done
        printf '\n'
    done
    while IFS= read -r line; do
        case $line in cpu*) printf '%s\n' "$line" ;; *) break ;; esac
    done </proc/stat
    # "some avg10=... total=MICROSECONDS": when some process waited for a processor.
    value=
    { IFS= read -r value </proc/pressure/cpu; } 2>/dev/null
    [ -n "$value" ] && printf 'pressure %s\n' "${value##*total=}"
    IFS=' ' read -r value _ </proc/uptime && printf 'uptime %s\n' "$value"
    printf 'end\n'
}
counters </dev/null 2>/dev/null
exit 0
