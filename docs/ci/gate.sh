#!/bin/sh
# Tests a model and fails if it falls short: gate.sh MODEL DATA RESULTS [SUITE]
#
# RESULTS is the folder to write to. SUITE, if it is given and exists, is the folder of an earlier run: the model
# must not lose what that suite showed.
set -u
model=$1 data=$2 results=$3 suite=${4:-}
deepconcolic=${DEEPCONCOLIC:-deepconcolic}
status=0
mkdir -p "$results"
"$deepconcolic" coverage "$model" --data "$data" -c nc --fail-under "nc=${LEAST_DATA:-80}" \
    --json "$results/coverage.json" || status=1
"$deepconcolic" run "$model" --data "$data" -c nc --seeds "${SEEDS:-20}" --radius "${RADIUS:-0.1}" \
    --max-executions "${EXECUTIONS:-20000}" --budget none -o "$results/run" \
    --fail-under "${LEAST:-80}" ${FAIL_ON:+--fail-on "$FAIL_ON"} || status=1
"$deepconcolic" check "$results/run" || status=1
if [ -n "$suite" ] && [ -d "$suite" ]; then
    "$deepconcolic" replay "$suite" --model "$model" || status=1
fi
exit "$status"
