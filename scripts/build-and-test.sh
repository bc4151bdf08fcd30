# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Builds, tests and counts; sourced after common.sh.

passed=0
failed=0
skipped=0
failures=()
failed_logs=() # of Meson's tests: DIRECTORY TEST, tab between
not_exercised=()

count_one() { # NAME STATUS: a step that is no Meson test
    if [ "$2" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        failures+=("$1")
    fi
}

# Adds the results of DIRECTORY's last `meson test`, one JSON object a line.
count_results() { # DIRECTORY
    local result name
    while read -r result name; do
        case "$result" in
        OK | EXPECTEDFAIL) passed=$((passed + 1)) ;;
        SKIP)
            skipped=$((skipped + 1))
            not_exercised+=("$1: $name")
            ;;
        *)
            failed=$((failed + 1))
            failures+=("$1: $name ($result)")
            failed_logs+=("$1"$'\t'"$name")
            ;;
        esac
    done < <(python3 -c '
import json, sys
for line in open(sys.argv[1]):
    test = json.loads(line)
    print(test["result"], test["name"])
' "$1/meson-logs/testlog.json")
}

# build_and_test DIRECTORY COMPILER SCALE BUILT MESON-TEST-OPTION... --
#     MESON-OPTION...
# BUILT: "all", or "needed", which is what these tests need.
build_and_test() {
    local directory=$1 compiler=$2 scale=$3 built=$4 which=() start=$SECONDS
    local build=configure status before
    shift 4
    while [ "$1" != -- ]; do
        which+=("$1")
        shift
    done
    shift
    if [ "$built" = all ]; then # `meson test` builds what is needed
        build=configure_and_build
        which+=(--no-rebuild)
    fi
    printf '\n== %s: %s %s\n' "$directory" "$compiler" "$*"
    "$build" "$directory" "$compiler" "$@"
    status=$?
    count_one "$directory: build" "$status"
    [ "$status" -eq 0 ] || return
    [ "$built" != all ] || {
        echo "$directory: built in $((SECONDS - start)) s"
        start=$SECONDS
    }
    rm -f "$directory/meson-logs/testlog.json"
    # More tests than CPUs: every other one waits most of the time.
    WARPRSA_TEST_SCALE=$((${WARPRSA_TEST_SCALE:-100} * scale / 100)) \
        meson test -C "$directory" --print-errorlogs \
        --num-processes "$(($(nproc) + 2))" "${which[@]}"
    status=$?
    before=$failed
    echo "$directory:$([ "$built" = all ] || echo " built and") tested in" \
        "$((SECONDS - start)) s"
    if [ -s "$directory/meson-logs/testlog.json" ]; then
        count_results "$directory"
    else
        count_one "$directory: meson test" 1
    fi
    # Up to 125 it is the number of tests that failed. Whatever else ended it,
    # tests may be missing in its results.
    if [ "$status" -gt 125 ] ||
        { [ "$status" -ne 0 ] && [ "$failed" -eq "$before" ]; }; then
        count_one "$directory: meson test, exit status $status" 1
    fi
}

# The end of what a test wrote, from DIRECTORY's last `meson test`.
print_log() { # DIRECTORY TEST
    python3 -c '
import json, sys
for line in open(sys.argv[1]):
    test = json.loads(line)
    if test["name"] == sys.argv[2]:
        lines = []
        for stream in "stdout", "stderr":
            lines += (test.get(stream) or "").splitlines()
        print("\n".join(lines[-40:]))
' "$1/meson-logs/testlog.json" "$2"
}

# What was counted; the last line is "N passed, N failed, N skipped". False if
# any failed.
print_results() {
    if [ ${#not_exercised[@]} -gt 0 ]; then
        echo "Not exercised:"
        printf '  %s\n' "${not_exercised[@]}"
    fi
    if [ ${#failures[@]} -gt 0 ]; then
        echo "Failed:"
        printf '  %s\n' "${failures[@]}"
        # For whoever sees the end of a long log only; of a few tests.
        local log
        for log in "${failed_logs[@]:0:5}"; do
            printf '== %s: %s, the last lines:\n' "${log%%$'\t'*}" \
                "${log#*$'\t'}"
            print_log "${log%%$'\t'*}" "${log#*$'\t'}"
        done
    fi
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
}
