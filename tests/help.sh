# Sourced by a script that people call, before it does anything: with -h or --help among its arguments it shows its opening comment,
# and ends.
for argument; do
    case $argument in
        -h | --help)
            awk 'NR > 1 && !/^#/ { exit } NR > 1 { sub(/^# ?/, ""); print }' "${BASH_SOURCE[1]}"
            exit 0
            ;;
    esac
done
