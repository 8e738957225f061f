#!/bin/bash
# poold is killed under load: what was synced is there, the next command says what happened, and the pool goes on.
. "$(dirname "$0")/lib.sh"
disks 3 192M
pool create -R "$MNT" tank raidz1 "$DISKS"/{0,1,2}
for round in 1 2 3; do
  dd if=/dev/urandom of="$MNT/tank/kept$round" bs=1M count=4 conv=fsync status=none
  sha256sum "$MNT"/tank/kept* >"$WORK/sums"
  (cp -a /usr/include/linux "$MNT/tank/unsynced$round" 2>/dev/null || true) &
  sleep 0.$round
  pid=$(sed -n 's/.*"pid":\([0-9]*\).*/\1/p' "$POOL_RUN_DIR/tank.json")
  kill -9 "$pid"
  wait
  # It is gone when nobody answers any more: its mounts are torn down first.
  for ((i = 0; i < 100; i++)); do
    [ -d "/proc/$pid/task" ] && ! grep -q '^State:.Z' "/proc/$pid/status" || break
    sleep 0.1
  done
  said=$(pool list 2>&1)
  [[ $said == *"Import it again with 'pool import -d"* ]] || fail "the dead process is not explained: $said"
  pool import -R "$MNT" -d "$DISKS" tank || fail "import after kill"
  sha256sum --quiet -c "$WORK/sums" || fail "synced data lost"
  pool export tank
  judge tank || fail "zdb"
  pool import -R "$MNT" -d "$DISKS" tank
done
pool destroy tank
echo "three kills survived"
