#!/bin/bash
# usage: fixtures_test.sh FIXTURE_CHECK FIXTURE_FOLDER: unpacks one fixture and compares it with its manifest.
set -u
check=$1 fixture=$2
[ -f "$fixture/disks.tar.zst" ] || { echo "no fixture at $fixture"; exit 77; }
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
tar --zstd -xf "$fixture/disks.tar.zst" -C "$folder" || exit 1
"$check" "$folder" "$fixture/manifest.json"
