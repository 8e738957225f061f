#!/bin/bash
# A pool's whole first life: create, add, mount, fill, look, export, judge, import, compare, destroy.
. "$(dirname "$0")/lib.sh"
disks 8 256M

pool create -R "$MNT" tank raidz "$DISKS"/{0,1,2,3,4} spare "$DISKS/5"
pool add tank cache "$DISKS/6"
pool add tank log "$DISKS/7"
grep -q 'raidz1-0' <<<"$(pool status tank)" || fail "status shows no raidz"
equal "tank ONLINE" "$(pool list -H -o name,health | tr '\t' ' ')" "list"
fs create tank/libvirt
fs set compression=on tank/libvirt
equal on "$(fs get -H -o value compression tank/libvirt)" "compression"
grep -q "$MNT/tank/libvirt" <<<"$(df -h 2>/dev/null)" || fail "not mounted by itself"
pool set autoreplace=on tank
equal on "$(pool get -H -o value autoreplace tank)" "autoreplace"

data=$MNT/tank/libvirt
cp -a /usr/share/doc/lib* "$data/"
tar -C /usr/include -cf - linux | tar -C "$data" -xf -
dd if=/dev/urandom of="$data/big" bs=1M count=24 status=none
dd if=/dev/urandom of="$data/small" bs=4k count=512 status=none
(cd "$data" && find . -type f -print0 | sort -z | xargs -0 sha256sum) >"$WORK/sums"
pool sync tank

pool export tank
[ -z "$(pool list -H -o name)" ] || fail "still imported after export"
judge tank || fail "zdb after export"
grep -q 'pool: tank' <<<"$(pool import -d "$DISKS")" || fail "not listed for import"
pool import -R "$MNT" -d "$DISKS" tank
(cd "$data" && sha256sum --quiet -c "$WORK/sums") || fail "content changed over export and import"
diff -r --no-dereference /usr/include/linux "$data/linux" || fail "tree differs"
rm -r "$data/linux" "$data/big"
pool export tank
judge tank || fail "zdb after deleting"
pool import -R "$MNT" -d "$DISKS" tank
pool destroy tank
echo "the story holds"
