// dataset_check FOLDER MANIFEST: opens the pool in FOLDER read-only and compares its datasets and their
// properties with what OpenZFS showed (the fixture's manifest.json). Prints each difference; exits 0 if there
// is none.
#include <fmt/format.h>

#include <fstream>

#include "libdataset/sa/owner_ids.h"
#include "libpool/label/label.h"
#include "libpool/txg/pool.h"
#include "tests/unit/support/dataset_compare.h"

namespace tarn {
namespace {

Result<std::vector<std::string>> check(const std::string& folder, const nlohmann::json& manifest) {
  for (DiscoveredPool& found : TRY(discover_pools({.folders = {folder}}))) {
    if (found.config.name != manifest.at("pool").at("name")) continue;
    std::unique_ptr<Pool> pool =
        TRY(Pool::open({.found = std::move(found), .read_only = true, .force = true}, {}));
    const std::uint64_t start = Clock::system().monotonic_ns();
    std::unique_ptr<DatasetTree> tree = TRY(DatasetTree::open(*pool, find_owner));
    const std::uint64_t opened = Clock::system().monotonic_ns();
    const std::size_t count = TRY(tree->list("", UINT32_MAX, true)).size();
    const std::uint64_t listed = Clock::system().monotonic_ns();
    fmt::print("{} datasets: opened in {} us, listed in {} us\n", count, (opened - start) / 1000,
               (listed - opened) / 1000);
    std::vector<std::string> differences = support::dataset_differences(*tree, manifest.at("expect"));
    tree.reset();
    TRY(pool->close(PoolState::exported));
    return differences;
  }
  return Error(Errc::not_found, fmt::format("no pool '{}' in '{}'",
                                            manifest.at("pool").at("name").get<std::string>(), folder));
}

}  // namespace
}  // namespace tarn

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: dataset_check FOLDER MANIFEST\n");
    return 2;
  }
  std::ifstream in(argv[2]);
  const auto differences = tarn::check(argv[1], nlohmann::json::parse(in));
  if (!differences) {
    fmt::print(stderr, "{}\n", differences.error().text());
    return 1;
  }
  for (const std::string& line : *differences) fmt::print("{}\n", line);
  return differences->empty() ? 0 : 1;
}
