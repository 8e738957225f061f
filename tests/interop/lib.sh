# Sourced by the interop tests: a folder and run directory of their own, removed at the end whatever happens; `judge` asks
# OpenZFS's zdb about an exported pool. A test that cannot run here exits 77 and says why.
set -euo pipefail

[ -w /dev/fuse ] || { echo "skipped: no /dev/fuse here"; exit 77; }
command -v zdb >/dev/null || { echo "skipped: zdb is not installed"; exit 77; }

WORK=$(mktemp -d "${TMPDIR:-/tmp}/tarn-interop.XXXXXX")
export POOL_RUN_DIR=$WORK/run POOL_CACHE_BYTES=64M POOL_DIRTY_BYTES=64M
MNT=$WORK/mnt
DISKS=$WORK/disks
mkdir -p "$DISKS" "$MNT"

cleanup() {
  local status=$?
  local name
  for name in $(pool list -H -o name 2>/dev/null); do
    pool destroy -f "$name" >/dev/null 2>&1 || true
  done
  # A process that did not end by itself is a failure of its own; its mounts must not outlive the test.
  for note in "$POOL_RUN_DIR"/*.json; do
    [ -f "$note" ] && kill -9 "$(sed -n 's/.*"pid":\([0-9]*\).*/\1/p' "$note")" 2>/dev/null || true
  done
  awk -v w="$WORK" 'index($2, w) == 1 {print $2}' /proc/mounts | sort -r | while read -r folder; do umount -l "$folder" || true; done
  if [ "$status" != 0 ] && [ -d "$POOL_RUN_DIR" ]; then tail -n 20 "$POOL_RUN_DIR"/*.log 2>/dev/null || true; fi
  rm -rf "$WORK"
  exit "$status"
}
trap cleanup EXIT

disks() { # disks COUNT SIZE: $DISKS/0 ...
  local i
  rm -f "$DISKS"/*
  for ((i = 0; i < $1; i++)); do truncate -s "$2" "$DISKS/$i"; done
}

judge() { # judge POOL: exported; every checksum right, no leak
  local out
  if ! out=$(zdb -e -p "$DISKS" -bcc "$1" 2>&1); then
    echo "zdb: $out"
    return 1
  fi
  if grep -qiE 'leaked|checksum error|errors on|double' <<<"$out" && ! grep -q 'No leaks' <<<"$out"; then
    echo "zdb: $out"
    return 1
  fi
}

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

equal() { # equal WANTED GOT WHAT
  [ "$1" = "$2" ] || fail "$3: wanted '$1', got '$2'"
}
