#!/bin/sh
# Builds an archive of the program for the platform that this runs on, with completions, manual pages and licences:
# dist/deepconcolic-VERSION-TARGET.tar.gz, the name that `cargo binstall` looks for.
set -eu
cd "$(dirname "$0")/.."
cargo build --release --locked -p deepconcolic-cli
folder=${CARGO_TARGET_DIR:-target}/release
version=$("$folder/deepconcolic" --version | cut -d ' ' -f 2)
target=$(rustc -vV | sed -n 's/^host: //p')
name=deepconcolic-$version-$target
rm -rf "dist/$name"
mkdir -p "dist/$name/completions"
cp "$folder/deepconcolic" README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "dist/$name/"
cp -r docs "dist/$name/docs"
for shell in bash zsh fish; do
    "$folder/deepconcolic" completions "$shell" > "dist/$name/completions/deepconcolic.$shell"
done
"$folder/deepconcolic" man "dist/$name/man"
tar -C dist -czf "dist/$name.tar.gz" "$name"
rm -r "dist/${name:?}"
ls -l "dist/$name.tar.gz"
