#!/usr/bin/env bash
# Opens a report in a real browser: with and without scripts, light, dark, narrow and printed.
#
#   run.sh --install                  gets what is missing: Debian's chromium, nodejs and npm; playwright-core
#   run.sh PROGRAM [PICTURE.png]      looks at the report of PROGRAM's demo
#
# PROGRAM is the built `deepconcolic`. With a second name, the picture of the README is written there. What cannot be
# installed, is missing or does not start here is no fault of the report: it is said with `skipped:`, and that is all.
# Installing is a step of its own since it changes the system, which must not happen while other tests run.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
cache="${XDG_CACHE_HOME:-$HOME/.cache}/deepconcolic-browser"
playwright=1.56.1
minutes=15

skip() {
  echo "skipped: the report is not looked at in a browser: $1"
  exit 0
}

# Runs a step of installing; where it fails, its last words are the reason.
step() {
  local log
  log="$(mktemp)"
  if ! timeout "${minutes}m" "$@" >"$log" 2>&1 </dev/null; then
    local reason
    reason="$(tail -n 1 "$log")"
    rm -f "$log"
    skip "$1 failed: $reason"
  fi
  rm -f "$log"
}

has() {
  command -v "$1" >/dev/null
}

has_playwright() {
  [ -f "$cache/node_modules/playwright-core/package.json" ]
}

install() {
  local packages=()
  has chromium || packages+=(chromium)
  has node || packages+=(nodejs)
  has npm || has_playwright || packages+=(npm)
  if [ ${#packages[@]} -gt 0 ]; then
    has apt-get || skip "${packages[*]} missing, and there is no apt-get"
    [ "$(id -u)" = 0 ] || skip "${packages[*]} missing, and only root can install packages"
    export DEBIAN_FRONTEND=noninteractive
    step apt-get update
    step apt-get install -y --no-install-recommends "${packages[@]}"
  fi
  if ! has_playwright; then
    mkdir -p "$cache"
    step npm install --no-audit --no-fund --ignore-scripts --prefix "$cache" "playwright-core@$playwright"
  fi
}

if [ "${1:-}" = --install ]; then
  install
  exit 0
fi
program="${1:?usage: run.sh --install, or run.sh PROGRAM [PICTURE.png]}"
for tool in chromium node; do
  has $tool || skip "there is no $tool; crates/report/browser/run.sh --install gets it"
done
has_playwright || skip "there is no playwright-core; crates/report/browser/run.sh --install gets it"

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
"$program" demo --out "$folder/demo" >/dev/null 2>&1
NODE_PATH="$cache/node_modules" node "$here/look.cjs" "$(command -v chromium)" "$folder/demo/run" ${2:+"$2"}
