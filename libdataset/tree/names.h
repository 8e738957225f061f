// Dataset names: pool/path@snapshot or pool/path#bookmark (FORMAT.md logical 3.1). Error texts are those that
// OpenZFS prints after "cannot VERB 'NAME': ".
#pragma once

#include <string>
#include <string_view>

#include "libpool/base/result.h"

namespace tarn {

inline constexpr std::size_t kMaxDatasetNameBytes = 255;
inline constexpr unsigned kMaxNestingDepth = 50;

enum class NameKind : std::uint8_t { dataset, snapshot, bookmark };

struct DatasetName {
  std::string dir;  // pool/path
  NameKind kind = NameKind::dataset;
  std::string tail;  // snapshot or bookmark name
  std::string full() const;
};

// Splits and checks characters, components and length. A legal name of any kind.
Result<DatasetName> parse_dataset_name(std::string_view name);
// The same, but only file systems and volumes.
Result<std::string> parse_dir_name(std::string_view name);

std::string_view parent_name(std::string_view dir);  // "" for a pool's root
std::string_view last_component(std::string_view dir);

}  // namespace tarn
