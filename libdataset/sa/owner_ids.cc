#include "libdataset/sa/owner_ids.h"

#include "libdataset/sa/sa_codec.h"

namespace tarn {
namespace {

constexpr std::uint64_t kFlagProjid = std::uint64_t{0x8000} << 32;
constexpr std::size_t kOldZnodeUidAt = 128, kOldZnodeGidAt = 136, kOldZnodeBytes = 264;

}  // namespace

std::optional<OwnerIds> find_owner(DmuType bonus_type, ByteView bonus, std::uint8_t /*dnode_flags*/) {
  if (bonus_type == DmuType::znode) {
    if (bonus.size() < kOldZnodeBytes) return std::nullopt;
    return OwnerIds{.uid = load<std::uint64_t>(bonus.data() + kOldZnodeUidAt, kHostOrder),
                    .gid = load<std::uint64_t>(bonus.data() + kOldZnodeGidAt, kHostOrder)};
  }
  if (bonus_type != DmuType::sa) return std::nullopt;
  const Result<SaHeader> header = decode_sa_header(bonus);
  if (!header || bonus.size() - header->bytes < kSaFixedBytes) return std::nullopt;
  const std::byte* fixed = bonus.data() + header->bytes;
  OwnerIds ids{.uid = load<std::uint64_t>(fixed + kSaUidAt, header->order),
               .gid = load<std::uint64_t>(fixed + kSaGidAt, header->order)};
  const auto flags = load<std::uint64_t>(fixed + kSaFlagsAt, header->order);
  if ((flags & kFlagProjid) != 0 && bonus.size() - header->bytes >= kSaProjidAt + 8) {
    ids.projid = load<std::uint64_t>(fixed + kSaProjidAt, header->order);
  }
  return ids;
}

}  // namespace tarn
