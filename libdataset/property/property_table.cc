// The table of native properties (FORMAT.md logical 7.2). Rows stand in the order of the enumeration, which
// is the order in which `get all` prints them.

#include <array>
#include <cstring>

#include "libdataset/property/property.h"

namespace tarn {
namespace {

// First entry with a value is the word that is printed; later ones are accepted on input.
constexpr IndexValue kOnOff[] = {{"off", 0}, {"on", 1}};
constexpr IndexValue kYesNo[] = {{"no", 0}, {"yes", 1}};
constexpr IndexValue kSnapdir[] = {{"hidden", 0}, {"visible", 1}, {"disabled", 2}};
constexpr IndexValue kSnapdev[] = {{"hidden", 0}, {"visible", 1}};
constexpr IndexValue kAclMode[] = {{"discard", 0}, {"groupmask", 2}, {"passthrough", 3}, {"restricted", 4}};
constexpr IndexValue kAclInherit[] = {{"discard", 0},     {"noallow", 1},       {"restricted", 4},
                                      {"passthrough", 3}, {"passthrough-x", 5}, {"secure", 4}};
constexpr IndexValue kAclType[] = {{"off", 0},      {"posix", 1}, {"nfsv4", 2},
                                   {"disabled", 0}, {"noacl", 0}, {"posixacl", 1}};
constexpr IndexValue kCanmount[] = {{"off", 0}, {"on", 1}, {"noauto", 2}};
constexpr IndexValue kXattr[] = {{"on", 2}, {"off", 0}, {"dir", 1}, {"sa", 2}};
constexpr IndexValue kCopies[] = {{"1", 1}, {"2", 2}, {"3", 3}};
constexpr IndexValue kVersion[] = {{"1", 1}, {"2", 2}, {"3", 3}, {"4", 4}, {"5", 5}, {"current", 5}};
constexpr IndexValue kNormalization[] = {
    {"none", 0}, {"formD", 16}, {"formKC", 96}, {"formC", 80}, {"formKD", 32}};
constexpr IndexValue kCase[] = {{"sensitive", 0}, {"insensitive", 1}, {"mixed", 2}};
constexpr IndexValue kCache[] = {{"none", 0}, {"metadata", 1}, {"all", 2}};
constexpr IndexValue kLogbias[] = {{"latency", 0}, {"throughput", 1}};
constexpr IndexValue kSync[] = {{"standard", 0}, {"always", 1}, {"disabled", 2}};
constexpr IndexValue kDnodeSize[] = {{"legacy", 0}, {"auto", 1},  {"1k", 1024},  {"2k", 2048},
                                     {"4k", 4096},  {"8k", 8192}, {"16k", 16384}};
constexpr IndexValue kRedundantMetadata[] = {{"all", 0}, {"most", 1}, {"some", 2}, {"none", 3}};
constexpr IndexValue kVolmode[] = {{"default", 0}, {"full", 1}, {"geom", 1}, {"dev", 2}, {"none", 3}};
constexpr IndexValue kDirect[] = {{"disabled", 0}, {"standard", 1}, {"always", 2}};
constexpr IndexValue kKeystatus[] = {{"none", 0}, {"unavailable", 1}, {"available", 2}};
constexpr IndexValue kKeyformat[] = {{"none", 0}, {"raw", 1}, {"hex", 2}, {"passphrase", 3}};
constexpr IndexValue kEncryption[] = {{"off", 2},         {"on", 1},          {"aes-128-ccm", 3},
                                      {"aes-192-ccm", 4}, {"aes-256-ccm", 5}, {"aes-128-gcm", 6},
                                      {"aes-192-gcm", 7}, {"aes-256-gcm", 8}};
constexpr IndexValue kChecksum[] = {{"on", 1},     {"off", 2},       {"fletcher2", 6}, {"fletcher4", 7},
                                    {"sha256", 8}, {"noparity", 10}, {"sha512", 11},   {"skein", 12},
                                    {"edonr", 13}, {"blake3", 14}};
constexpr std::uint64_t kDedupVerify = 0x100;
constexpr IndexValue kDedup[] = {{"on", 1},
                                 {"off", 2},
                                 {"verify", 1 | kDedupVerify},
                                 {"sha256", 8},
                                 {"sha256,verify", 8 | kDedupVerify},
                                 {"sha512", 11},
                                 {"sha512,verify", 11 | kDedupVerify},
                                 {"skein", 12},
                                 {"skein,verify", 12 | kDedupVerify},
                                 {"edonr,verify", 13 | kDedupVerify},
                                 {"blake3", 14},
                                 {"blake3,verify", 14 | kDedupVerify}};

// zstd levels are stored above the algorithm's number; 0 = its default level.
constexpr std::uint64_t zstd(std::uint64_t level) { return 16 + 128 * level; }
constexpr IndexValue kCompression[] = {{"on", 1},
                                       {"off", 2},
                                       {"lzjb", 3},
                                       {"gzip", 10},
                                       {"gzip-1", 5},
                                       {"gzip-2", 6},
                                       {"gzip-3", 7},
                                       {"gzip-4", 8},
                                       {"gzip-5", 9},
                                       {"gzip-6", 10},
                                       {"gzip-7", 11},
                                       {"gzip-8", 12},
                                       {"gzip-9", 13},
                                       {"zle", 14},
                                       {"lz4", 15},
                                       {"zstd", zstd(0)},
                                       {"zstd-1", zstd(1)},
                                       {"zstd-2", zstd(2)},
                                       {"zstd-3", zstd(3)},
                                       {"zstd-4", zstd(4)},
                                       {"zstd-5", zstd(5)},
                                       {"zstd-6", zstd(6)},
                                       {"zstd-7", zstd(7)},
                                       {"zstd-8", zstd(8)},
                                       {"zstd-9", zstd(9)},
                                       {"zstd-10", zstd(10)},
                                       {"zstd-11", zstd(11)},
                                       {"zstd-12", zstd(12)},
                                       {"zstd-13", zstd(13)},
                                       {"zstd-14", zstd(14)},
                                       {"zstd-15", zstd(15)},
                                       {"zstd-16", zstd(16)},
                                       {"zstd-17", zstd(17)},
                                       {"zstd-18", zstd(18)},
                                       {"zstd-19", zstd(19)},
                                       {"zstd-fast", zstd(103)},
                                       {"zstd-fast-1", zstd(103)},
                                       {"zstd-fast-2", zstd(104)},
                                       {"zstd-fast-3", zstd(105)},
                                       {"zstd-fast-4", zstd(106)},
                                       {"zstd-fast-5", zstd(107)},
                                       {"zstd-fast-6", zstd(108)},
                                       {"zstd-fast-7", zstd(109)},
                                       {"zstd-fast-8", zstd(110)},
                                       {"zstd-fast-9", zstd(111)},
                                       {"zstd-fast-10", zstd(112)},
                                       {"zstd-fast-20", zstd(113)},
                                       {"zstd-fast-30", zstd(114)},
                                       {"zstd-fast-40", zstd(115)},
                                       {"zstd-fast-50", zstd(116)},
                                       {"zstd-fast-60", zstd(117)},
                                       {"zstd-fast-70", zstd(118)},
                                       {"zstd-fast-80", zstd(119)},
                                       {"zstd-fast-90", zstd(120)},
                                       {"zstd-fast-100", zstd(121)},
                                       {"zstd-fast-500", zstd(122)},
                                       {"zstd-fast-1000", zstd(123)}};

constexpr std::uint64_t kNoLimit = UINT64_MAX;
constexpr const char* kCompressionHelp =
    "on | off | lzjb | gzip | gzip-[1-9] | zle | lz4 | zstd | zstd-[1-19] | zstd-fast | "
    "zstd-fast-[1-10,20,30,40,50,60,70,80,90,100,500,1000]";
constexpr const char* kEncryptionHelp =
    "on | off | aes-128-ccm | aes-192-ccm | aes-256-ccm | aes-128-gcm | aes-192-gcm | aes-256-gcm";
constexpr const char* kDedupHelp =
    "on | off | verify | sha256[,verify] | sha512[,verify] | skein[,verify] | edonr,verify | blake3[,verify]";

using enum PropertyAttr;
using P = Property;

// `kinds`: f file system, v volume, s snapshot, b bookmark.
constexpr bool has_kind(const char* kinds, char kind) {
  for (; *kinds; ++kinds)
    if (*kinds == kind) return true;
  return false;
}

constexpr PropertyInfo row(P id, const char* name, const char* short_name, const char* column,
                           PropertyType type, PropertyAttr attr, const char* kinds, std::uint64_t number,
                           const char* text, std::span<const IndexValue> index, const char* help,
                           bool acted_upon, bool right) {
  return {id,
          name,
          short_name,
          column,
          type,
          attr,
          has_kind(kinds, 'f'),
          has_kind(kinds, 'v'),
          has_kind(kinds, 's'),
          has_kind(kinds, 'b'),
          number,
          text,
          index,
          help,
          acted_upon,
          right};
}
constexpr PropertyInfo number(P id, const char* name, const char* short_name, const char* column,
                              PropertyAttr attr, const char* kinds, std::uint64_t value, const char* help,
                              bool acted_upon = true) {
  return row(id, name, short_name, column, PropertyType::number, attr, kinds, value, nullptr, {}, help,
             acted_upon, true);
}
// Numbers that print as dates.
constexpr PropertyInfo date(P id, const char* name, const char* column, const char* kinds) {
  return row(id, name, nullptr, column, PropertyType::number, read_only, kinds, 0, nullptr, {}, "<date>",
             true, false);
}
constexpr PropertyInfo text(P id, const char* name, const char* column, PropertyAttr attr, const char* kinds,
                            const char* value, const char* help, bool acted_upon = true) {
  return row(id, name, nullptr, column, PropertyType::text, attr, kinds, 0, value, {}, help, acted_upon,
             false);
}
constexpr PropertyInfo index(P id, const char* name, const char* short_name, const char* column,
                             PropertyAttr attr, const char* kinds, std::uint64_t value,
                             std::span<const IndexValue> words, const char* help, bool acted_upon = true) {
  return row(id, name, short_name, column, PropertyType::index, attr, kinds, value, nullptr, words, help,
             acted_upon, false);
}

constexpr std::size_t kCount = static_cast<std::size_t>(P::count_);

// acted_upon is false where `set` must refuse everything but the default: storing a value that nothing obeys
// would mislead. sharenfs, sharesmb and the SELinux contexts are kept and shown only, by decision (the
// servers' own configuration rules).
constexpr std::array<PropertyInfo, kCount> kTable = {{
    text(P::type, "type", "TYPE", read_only, "fvsb", nullptr, "filesystem | volume | snapshot | bookmark"),
    date(P::creation, "creation", "CREATION", "fvsb"),
    number(P::used, "used", nullptr, "USED", read_only, "fvs", 0, "<size>"),
    number(P::available, "available", "avail", "AVAIL", read_only, "fv", 0, "<size>"),
    number(P::referenced, "referenced", "refer", "REFER", read_only, "fvsb", 0, "<size>"),
    number(P::compressratio, "compressratio", "ratio", "RATIO", read_only, "fvsb", 0,
           "<1.00x or higher if compressed>"),
    index(P::mounted, "mounted", nullptr, "MOUNTED", read_only, "f", 0, kYesNo, "yes | no"),
    text(P::origin, "origin", "ORIGIN", read_only, "fv", nullptr, "<snapshot>"),
    number(P::quota, "quota", nullptr, "QUOTA", settable_not_inherited, "f", 0, "<size> | none"),
    number(P::reservation, "reservation", "reserv", "RESERV", settable_not_inherited, "fv", 0,
           "<size> | none"),
    number(P::volsize, "volsize", nullptr, "VOLSIZE", settable_not_inherited, "vs", 0, "<size>"),
    number(P::volblocksize, "volblocksize", "volblock", "VOLBLOCK", once_inherited, "v", 16384,
           "512 to 128k, power of 2"),
    number(P::recordsize, "recordsize", "recsize", "RECSIZE", inherited, "f", 131072,
           "512 to 1M, power of 2"),
    text(P::mountpoint, "mountpoint", "MOUNTPOINT", inherited, "f", "/", "<path> | legacy | none"),
    text(P::sharenfs, "sharenfs", "SHARENFS", inherited, "f", "off", "on | off | NFS share options"),
    index(P::checksum, "checksum", nullptr, "CHECKSUM", inherited, "fv", 1, kChecksum,
          "on | off | fletcher2 | fletcher4 | sha256 | sha512 | skein | edonr | blake3"),
    index(P::compression, "compression", "compress", "COMPRESS", inherited, "fv", 1, kCompression,
          kCompressionHelp),
    index(P::atime, "atime", nullptr, "ATIME", inherited, "f", 1, kOnOff, "on | off"),
    index(P::devices, "devices", nullptr, "DEVICES", inherited, "fs", 1, kOnOff, "on | off"),
    index(P::exec, "exec", nullptr, "EXEC", inherited, "fs", 1, kOnOff, "on | off"),
    index(P::setuid, "setuid", nullptr, "SETUID", inherited, "fs", 1, kOnOff, "on | off"),
    index(P::readonly, "readonly", "rdonly", "RDONLY", inherited, "fv", 0, kOnOff, "on | off"),
    index(P::zoned, "zoned", nullptr, "ZONED", inherited, "f", 0, kOnOff, "on | off", false),
    index(P::snapdir, "snapdir", nullptr, "SNAPDIR", inherited, "f", 0, kSnapdir,
          "disabled | hidden | visible"),
    index(P::aclmode, "aclmode", nullptr, "ACLMODE", inherited, "f", 0, kAclMode,
          "discard | groupmask | passthrough | restricted", false),
    index(P::aclinherit, "aclinherit", nullptr, "ACLINHERIT", inherited, "f", 4, kAclInherit,
          "discard | noallow | restricted | passthrough | passthrough-x", false),
    number(P::createtxg, "createtxg", nullptr, "CREATETXG", read_only, "fvsb", 0, "<uint64>"),
    index(P::canmount, "canmount", nullptr, "CANMOUNT", settable_not_inherited, "f", 1, kCanmount,
          "on | off | noauto"),
    index(P::xattr, "xattr", nullptr, "XATTR", inherited, "fs", 2, kXattr, "on | off | dir | sa"),
    index(P::copies, "copies", nullptr, "COPIES", inherited, "fv", 1, kCopies, "1 | 2 | 3"),
    index(P::version, "version", nullptr, "VERSION", settable_not_inherited, "fs", 0, kVersion,
          "1 | 2 | 3 | 4 | 5 | current"),
    index(P::utf8only, "utf8only", nullptr, "UTF8ONLY", once_inherited, "fs", 0, kOnOff, "on | off", false),
    index(P::normalization, "normalization", nullptr, "NORMALIZATION", once_inherited, "fs", 0,
          kNormalization, "none | formC | formD | formKC | formKD", false),
    index(P::casesensitivity, "casesensitivity", nullptr, "CASE", once_inherited, "fs", 0, kCase,
          "sensitive | insensitive | mixed", false),
    index(P::vscan, "vscan", nullptr, "VSCAN", inherited, "f", 0, kOnOff, "on | off", false),
    index(P::nbmand, "nbmand", nullptr, "NBMAND", inherited, "fs", 0, kOnOff, "on | off", false),
    text(P::sharesmb, "sharesmb", "SHARESMB", inherited, "f", "off", "on | off | SMB share options"),
    number(P::refquota, "refquota", nullptr, "REFQUOTA", settable_not_inherited, "f", 0, "<size> | none"),
    number(P::refreservation, "refreservation", "refreserv", "REFRESERV", settable_not_inherited, "fv", 0,
           "<size> | none"),
    number(P::guid, "guid", nullptr, "GUID", read_only, "fvsb", 0, "<uint64>"),
    index(P::primarycache, "primarycache", nullptr, "PRIMARYCACHE", inherited, "fsv", 2, kCache,
          "all | none | metadata", false),
    index(P::secondarycache, "secondarycache", nullptr, "SECONDARYCACHE", inherited, "fsv", 2, kCache,
          "all | none | metadata", false),
    number(P::usedbysnapshots, "usedbysnapshots", "usedsnap", "USEDSNAP", read_only, "fv", 0, "<size>"),
    number(P::usedbydataset, "usedbydataset", "usedds", "USEDDS", read_only, "fv", 0, "<size>"),
    number(P::usedbychildren, "usedbychildren", "usedchild", "USEDCHILD", read_only, "fv", 0, "<size>"),
    number(P::usedbyrefreservation, "usedbyrefreservation", "usedrefreserv", "USEDREFRESERV", read_only, "fv",
           0, "<size>"),
    index(P::defer_destroy, "defer_destroy", nullptr, "DEFER_DESTROY", read_only, "s", 0, kOnOff, "yes | no"),
    number(P::userrefs, "userrefs", nullptr, "USERREFS", read_only, "s", 0, "<count>"),
    index(P::logbias, "logbias", nullptr, "LOGBIAS", inherited, "fv", 0, kLogbias, "latency | throughput",
          false),
    number(P::objsetid, "objsetid", nullptr, "OBJSETID", read_only, "fvs", 0, "<uint64>"),
    index(P::dedup, "dedup", nullptr, "DEDUP", inherited, "fv", 2, kDedup, kDedupHelp, false),
    text(P::mlslabel, "mlslabel", "MLSLABEL", inherited, "fvs", "none", "<sensitivity label>", false),
    index(P::sync, "sync", nullptr, "SYNC", inherited, "fv", 0, kSync, "standard | always | disabled", false),
    index(P::dnodesize, "dnodesize", nullptr, "DNSIZE", inherited, "f", 0, kDnodeSize,
          "legacy | auto | 1k | 2k | 4k | 8k | 16k"),
    number(P::refcompressratio, "refcompressratio", nullptr, "REFRATIO", read_only, "fvs", 0,
           "<1.00x or higher if compressed>"),
    number(P::written, "written", nullptr, "WRITTEN", read_only, "fvs", 0, "<size>"),
    text(P::clones, "clones", "CLONES", read_only, "s", nullptr, "<dataset>[,...]"),
    number(P::logicalused, "logicalused", nullptr, "LUSED", read_only, "fv", 0, "<size>"),
    number(P::logicalreferenced, "logicalreferenced", nullptr, "LREFER", read_only, "fvsb", 0, "<size>"),
    index(P::volmode, "volmode", nullptr, "VOLMODE", inherited, "fv", 0, kVolmode,
          "default | full | geom | dev | none", false),
    number(P::filesystem_limit, "filesystem_limit", nullptr, "FSLIMIT", settable_not_inherited, "f", kNoLimit,
           "<count> | none", false),
    number(P::snapshot_limit, "snapshot_limit", nullptr, "SSLIMIT", settable_not_inherited, "fv", kNoLimit,
           "<count> | none", false),
    number(P::filesystem_count, "filesystem_count", nullptr, "FSCOUNT", read_only, "f", kNoLimit, "<count>"),
    number(P::snapshot_count, "snapshot_count", nullptr, "SSCOUNT", read_only, "fv", kNoLimit, "<count>"),
    index(P::snapdev, "snapdev", nullptr, "SNAPDEV", inherited, "fv", 0, kSnapdev, "hidden | visible", false),
    index(P::acltype, "acltype", nullptr, "ACLTYPE", inherited, "fs", 0, kAclType, "off | nfsv4 | posix"),
    text(P::context, "context", "CONTEXT", settable_not_inherited, "fvs", "none", "<selinux context>"),
    text(P::fscontext, "fscontext", "FSCONTEXT", settable_not_inherited, "fvs", "none",
         "<selinux fscontext>"),
    text(P::defcontext, "defcontext", "DEFCONTEXT", settable_not_inherited, "fvs", "none",
         "<selinux defcontext>"),
    text(P::rootcontext, "rootcontext", "ROOTCONTEXT", settable_not_inherited, "fvs", "none",
         "<selinux rootcontext>"),
    index(P::relatime, "relatime", nullptr, "RELATIME", inherited, "f", 1, kOnOff, "on | off"),
    index(P::redundant_metadata, "redundant_metadata", nullptr, "REDUND_MD", inherited, "fv", 0,
          kRedundantMetadata, "all | most | some | none"),
    index(P::overlay, "overlay", nullptr, "OVERLAY", inherited, "f", 1, kOnOff, "on | off"),
    text(P::receive_resume_token, "receive_resume_token", "RESUMETOK", read_only, "fv", nullptr,
         "<string token>"),
    index(P::encryption, "encryption", nullptr, "ENCRYPTION", once_inherited, "fvs", 2, kEncryption,
          kEncryptionHelp, false),
    text(P::keylocation, "keylocation", "KEYLOCATION", settable_not_inherited, "fv", "none",
         "prompt | <file URI> | <https URL> | <http URL>", false),
    index(P::keyformat, "keyformat", nullptr, "KEYFORMAT", once, "fv", 0, kKeyformat,
          "none | raw | hex | passphrase", false),
    number(P::pbkdf2iters, "pbkdf2iters", nullptr, "PBKDF2ITERS", once, "fv", 0, "<iters>", false),
    text(P::encryptionroot, "encryptionroot", "ENCROOT", read_only, "fvs", nullptr, "<filesystem | volume>"),
    index(P::keystatus, "keystatus", nullptr, "KEYSTATUS", read_only, "fvs", 0, kKeystatus,
          "none | unavailable | available"),
    number(P::special_small_blocks, "special_small_blocks", nullptr, "SPECIAL_SMALL_BLOCKS", inherited, "f",
           0, "zero or 512 to 1M, power of 2", false),
    text(P::redact_snaps, "redact_snaps", "RSNAPS", read_only, "fvsb", nullptr, "<snapshot>[,...]"),
    date(P::snapshots_changed, "snapshots_changed", "SNAPSHOTS_CHANGED", "fv"),
    index(P::prefetch, "prefetch", nullptr, "PREFETCH", inherited, "fsv", 2, kCache, "none | metadata | all",
          false),
    index(P::volthreading, "volthreading", nullptr, "zvol threading", settable_not_inherited, "v", 1, kOnOff,
          "on | off", false),
    index(P::direct, "direct", nullptr, "DIRECT", inherited, "f", 1, kDirect, "disabled | standard | always",
          false),
    index(P::longname, "longname", nullptr, "LONGNAME", inherited, "f", 0, kOnOff, "on | off", false),
    text(P::name, "name", "NAME", read_only, "fvsb", nullptr, nullptr),
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kCount; ++i)
    if (static_cast<std::size_t>(kTable[i].id) != i) return false;
  return true;
}
static_assert(in_order(), "rows stand in the order of the enumeration");

}  // namespace

const PropertyInfo& property_info(Property property) { return kTable[static_cast<std::size_t>(property)]; }

std::span<const PropertyInfo> all_properties() { return kTable; }

const PropertyInfo* find_property(std::string_view name) {
  for (const PropertyInfo& info : kTable)
    if (name == info.name || (info.short_name && name == info.short_name)) return &info;
  return nullptr;
}

}  // namespace tarn
