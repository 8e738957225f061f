#!/bin/bash
# Every layout: filled, exported, judged, imported, compared.
. "$(dirname "$0")/lib.sh"

round() { # round NAME DISKS ARGS...: pool create ARGS with d0 d1 ... standing for the disks
  local name=$1 count=$2
  shift 2
  disks "$count" 192M
  local words=() word
  for word in "$@"; do
    if [[ $word =~ ^d([0-9]+)$ ]]; then words+=("$DISKS/${BASH_REMATCH[1]}"); else words+=("$word"); fi
  done
  pool create -R "$MNT" tank "${words[@]}" || fail "$name: create"
  fs create -o compression=lz4 tank/a
  dd if=/dev/urandom of="$MNT/tank/random" bs=1M count=12 status=none
  cp -a /usr/share/doc/libc6* /usr/include/linux "$MNT/tank/a/"
  (cd "$MNT/tank" && find . -type f -print0 | sort -z | xargs -0 sha256sum) >"$WORK/sums"
  pool export tank || fail "$name: export"
  judge tank || fail "$name: zdb"
  pool import -R "$MNT" -d "$DISKS" tank || fail "$name: import"
  (cd "$MNT/tank" && sha256sum --quiet -c "$WORK/sums") || fail "$name: content"
  pool destroy tank || fail "$name: destroy"
  echo "ok: $name"
}

case ${1:-all} in
  plain | all)
    round "single disk" 1 d0
    round "stripe" 3 d0 d1 d2
    round "2-way mirror" 2 mirror d0 d1
    round "3-way mirror" 3 mirror d0 d1 d2
    round "striped mirrors" 4 mirror d0 d1 mirror d2 d3
    round "mirror with log, cache, spare" 6 mirror d0 d1 log d2 cache d3 spare d4 d5
    round "ashift 9" 1 -o ashift=9 d0
    round "ashift 13" 2 -o ashift=13 mirror d0 d1
    round "ashift 16" 1 -o ashift=16 d0
    ;;&
  raidz | all)
    round "raidz1 of 3" 3 raidz1 d0 d1 d2
    round "raidz1 of 5, ashift 9" 5 -o ashift=9 raidz1 d0 d1 d2 d3 d4
    round "raidz2 of 4" 4 raidz2 d0 d1 d2 d3
    round "raidz2 of 7" 7 raidz2 d0 d1 d2 d3 d4 d5 d6
    round "raidz3 of 8" 8 raidz3 d0 d1 d2 d3 d4 d5 d6 d7
    round "raidz1 of 12" 12 raidz1 d0 d1 d2 d3 d4 d5 d6 d7 d8 d9 d10 d11
    round "two raidz groups" 6 raidz1 d0 d1 d2 raidz1 d3 d4 d5
    ;;
esac
