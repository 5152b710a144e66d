#!/usr/bin/env bash
# Opens a report in a real browser: with and without scripts, light, dark, narrow and printed.
#
#   run.sh [--install] PROGRAM [PICTURE.png]
#
# PROGRAM is the built `deepconcolic`; its demo is what is looked at. With --install, what is missing (Debian's
# chromium, nodejs and npm; playwright-core) is installed; without, the test is skipped with a reason. With a second
# name, the picture of the README is written there.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
install=no
if [ "${1:-}" = --install ]; then
  install=yes
  shift
fi
program="${1:?usage: run.sh [--install] PROGRAM [PICTURE.png]}"
picture="${2:-}"
cache="${XDG_CACHE_HOME:-$HOME/.cache}/deepconcolic-browser"

skip() {
  echo "skipped: $1 is missing; run.sh --install gets it"
  exit 0
}

if ! command -v chromium >/dev/null || ! command -v node >/dev/null || ! command -v npm >/dev/null; then
  [ $install = yes ] || skip "chromium, node or npm"
  apt-get update && apt-get install -y chromium nodejs npm
fi
if [ ! -d "$cache/node_modules/playwright-core" ]; then
  [ $install = yes ] || skip "playwright-core (npm)"
  mkdir -p "$cache"
  npm install --no-audit --no-fund --prefix "$cache" playwright-core
fi

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
"$program" demo --out "$folder/demo" >/dev/null 2>&1
NODE_PATH="$cache/node_modules" node "$here/look.cjs" "$(command -v chromium)" "$folder/demo/run" $picture
