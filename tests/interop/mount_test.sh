#!/bin/bash
# usage: mount_test.sh MOUNT_TOOL: makes a pool on a file, mounts it through FUSE, uses it as people do (cp, tar, git, rsync,
# holes, extended attributes, ACLs, snapshots), and lets zdb judge what is on disk afterwards.
set -u
tool=$1
[ -e /dev/fuse ] && [ "$(id -u)" = 0 ] || { echo "needs /dev/fuse and root"; exit 77; }
work=$(mktemp -d) || exit 1
mkdir "$work/disks" "$work/mnt" "$work/ref"
mountpoint=$work/mnt
pid=
cleanup() {
  [ -n "$pid" ] && { exec 7>&-; sleep 1; kill -9 "$pid" 2>/dev/null; }
  mountpoint -q "$mountpoint" && umount -l "$mountpoint"
  rm -rf "$work"
}
trap cleanup EXIT
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
try() { "$@" || fail "$@"; }

start() { # command, then properties
  local command=$1; shift
  rm -f "$work/in" "$work/out"; mkfifo "$work/in"
  "$tool" "$command" "$work/disks" mounttest mounttest "$mountpoint" "$@" <"$work/in" >"$work/out" 2>&1 &
  pid=$!
  exec 7>"$work/in"
  for _ in $(seq 100); do grep -q mounted "$work/out" && return; kill -0 $pid 2>/dev/null || break; sleep 0.1; done
  cat "$work/out"; echo "did not mount"; exit 1
}
stop() {
  exec 7>&-
  wait $pid || { fail "unmount and export"; cat "$work/out"; }
  pid=
  zdb -e -p "$work/disks" -bcc mounttest >"$work/zdb" 2>&1 || { fail "zdb after $1"; grep -v '^Travers\|loading' "$work/zdb" | tail -20; }
  grep -q "No leaks" "$work/zdb" || { fail "zdb found leaks after $1"; tail -30 "$work/zdb"; }
}

truncate -s 512M "$work/disks/disk0"
start create acltype=posix xattr=sa compression=lz4
cd "$mountpoint" || exit 1

grep -q "mounttest $mountpoint fuse.zfs" /proc/mounts || fail "type or source in /proc/mounts"

# trees
try cp -a /usr/share/doc/. ./doc
try diff -r --no-dereference /usr/share/doc doc
mkdir tarred && tar -C /usr/include -cf - . | tar -C tarred -xf - || fail tar
try diff -r --no-dereference /usr/include tarred
try rsync -aHAX tarred/ synced/
[ -z "$(rsync -aHAXni --delete tarred/ synced/)" ] || fail "rsync sees differences after a copy"
git init -q repo && (cd repo && git config user.email a@b && git config user.name n && cp -r /usr/include/linux . && git add -A && git commit -qm one &&
  rm -rf linux && git checkout -q -- . && git gc -q && git fsck 2>&1 | grep -v dangling) >"$work/git" 2>&1
[ -d repo/linux ] && git -C repo status --porcelain | grep -q . && fail "git sees changes"

# names
mkdir names && for i in $(seq 3000); do : >names/file-$i; done
[ "$(ls names | wc -l)" = 3000 ] || fail "3000 names"
for i in $(seq 7 7 3000); do rm names/file-$i; done
[ "$(ls names | wc -l)" = 2572 ] || fail "names after removing"
long=$(printf 'n%.0s' $(seq 255)); : >"names/$long"; [ -e "names/$long" ] || fail "long name"
: >"names/${long}x" 2>/dev/null && fail "name too long was accepted"
mkdir a a/b; mv a/b b; mv b a/c; [ -d a/c ] || fail "mv of a folder"; mv a a/c/x 2>/dev/null && fail "moved below itself"
[ "$(stat -c %h a)" = 3 ] || fail "links of a folder"
echo 1 >x; echo 2 >y; mv -T x y; [ "$(cat y)" = 1 ] || fail "mv over a file"
ln y z; [ "$(stat -c %h z)" = 2 ] || fail "hard link"; rm y; [ "$(cat z)" = 1 ] || fail "link after rm"
ln -s "$(printf 't%.0s' $(seq 1000))" sym; [ "$(readlink sym | wc -c)" = 1001 ] || fail "symlink"
mkfifo fifo; mknod null c 1 3; [ "$(stat -c %t:%T null)" = 1:3 ] || fail "device"
echo x >null || fail "writing to a device"
rmdir a 2>/dev/null && fail "rmdir of a full folder"
exec 9>gone; rm gone; echo data >&9 || fail "write to an unlinked file"; exec 9>&-

# content
head -c 30000000 /dev/urandom >"$work/ref/random"; cp "$work/ref/random" random; try cmp random "$work/ref/random"
truncate -s 12345678 random "$work/ref/random"; try cmp random "$work/ref/random"
for f in "$work/ref/random" random; do dd if=/dev/zero of=$f bs=1000 seek=777 count=5 conv=notrunc status=none; fallocate -p -o 300000 -l 5000000 $f; done
try cmp random "$work/ref/random"
truncate -s 1G sparse; echo end >>sparse; [ "$(stat -c %s sparse)" = 1073741828 ] || fail "append to a sparse file"
sync -f .
[ "$(du -k sparse | cut -f1)" -lt 1000 ] || fail "sparse file takes $(du -k sparse)"
cp --sparse=always sparse sparse2; try cmp sparse sparse2
for i in $(seq 200); do echo "line $i" >>appended; done; [ "$(wc -l <appended)" = 200 ] || fail append
fallocate -l 100000 allocated; [ "$(stat -c %s allocated)" = 100000 ] || fail fallocate

# attributes
touch -d '1969-12-31 23:59:58.5 UTC' old; [ "$(stat -c %Y old)" = -2 ] || fail "time before 1970: $(stat -c %Y old)"
touch -d '2038-06-01 00:00:00.123456789 UTC' late; [ "$(stat -c %y late | cut -d. -f2 | cut -c1-9)" = 123456789 ] || fail nanoseconds
chmod 4711 old; [ "$(stat -c %a old)" = 4711 ] || fail chmod
chown 1000:100 old; [ "$(stat -c %u:%g:%a old)" = 1000:100:711 ] || fail "chown: $(stat -c %u:%g:%a old)"
try setfattr -n user.small -v value old; [ "$(getfattr --only-values -n user.small old)" = value ] || fail xattr
try setfattr -n user.large -v "0x$(head -c 20000 /dev/zero | od -v -An -tx1 | tr -d ' \n')" old
[ "$(getfattr --only-values -n user.large old | wc -c)" = 20000 ] || fail "large xattr"
try setfattr -x user.small old; getfattr -n user.small old 2>/dev/null && fail "xattr still there"
try setfacl -m u:1000:rw,g:100:r old; getfacl -cn old | grep -q user:1000:rw || fail "access ACL"
mkdir acl; try setfacl -d -m u:1001:rwx,o::--- acl; touch acl/child; getfacl -cn acl/child | grep -q user:1001 || fail "inherited ACL"
chmod 600 old; getfacl -cn old | grep -q mask::--- || fail "chmod and mask"
try chattr +i old; echo x >>old 2>/dev/null && fail "wrote to an immutable file"; rm -f old 2>/dev/null && fail "removed an immutable file"
try chattr -i old
try chattr +a appended; echo x >appended 2>/dev/null && fail "truncated an append-only file"; echo x >>appended || fail "append to append-only"
try chattr -a appended
(umask 077; touch masked); [ "$(stat -c %a masked)" = 600 ] || fail umask
mkdir sg; chgrp 100 sg; chmod g+s sg; touch sg/f; mkdir sg/d; [ "$(stat -c %g:%a sg/d)" = 100:2755 ] || fail "set-gid folder $(stat -c %g:%a sg/d)"
try setpriv --reuid 1000 --regid 1000 --clear-groups test ! -w names
touch suid; chmod 4777 suid; setpriv --reuid 1000 --regid 1000 --clear-groups sh -c 'echo x >>suid'; [ "$(stat -c %a suid)" = 777 ] || fail "suid survives a write"

# snapshots
echo before >snapped; echo one >&7
for _ in $(seq 50); do grep -q "snapshot one" "$work/out" && break; sleep 0.1; done
echo after >snapped; rm z
[ "$(cat .zfs/snapshot/one/snapped)" = before ] || fail "content of a snapshot"
[ "$(cat .zfs/snapshot/one/z)" = 1 ] || fail "file removed since the snapshot"
ls .zfs/snapshot | grep -qx one || fail "list of snapshots"
ls -A | grep -q '^.zfs$' && fail ".zfs is visible"
touch .zfs/snapshot/one/new 2>/dev/null && fail "wrote to a snapshot"

find . -xdev -printf '%p %y %s %m %U %G %n %T@ %l\n' | sort >"$work/ref/list"
find . -xdev -type f -size -20M -print0 | sort -z | xargs -0 sha256sum >"$work/ref/sums"
cd / || exit 1
stop "first use"

start import
cd "$mountpoint" || exit 1
find . -xdev -printf '%p %y %s %m %U %G %n %T@ %l\n' | sort | diff "$work/ref/list" - | head -10 | grep . && fail "attributes after import"
find . -xdev -type f -size -20M -print0 | sort -z | xargs -0 sha256sum | diff "$work/ref/sums" - | head -10 | grep . && fail "content after import"
rm -rf doc tarred synced repo names
exec 9<random; (cd /; umount "$mountpoint" 2>/dev/null) && fail "unmounted while in use"; exec 9<&-
cd / || exit 1
stop "second use"
[ $failures = 0 ] && echo "all passed"
exit $((failures > 0))
