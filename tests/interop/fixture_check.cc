// fixture_check FOLDER MANIFEST: opens the pool in FOLDER read-only and compares every file system and
// snapshot with what OpenZFS showed of it (the fixture's manifest.json). Prints each difference; exits 0 if
// there is none, 77 if the pool cannot be opened for want of something we know we lack.
#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "libdataset/files/file_system.h"
#include "libdataset/sa/owner_ids.h"
#include "libdataset/tree/dataset_tree.h"
#include "libpool/label/label.h"
#include "libpool/txg/pool.h"

namespace tarn {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kReadBytes = 1u << 20;
constexpr int kExitSkipped = 77;

std::string decode_base64(const std::string& text) {
  std::string out(text.size() / 4 * 3 + 3, '\0');
  const int length =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                      reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  const auto padding = static_cast<std::size_t>(std::count(text.begin(), text.end(), '='));
  out.resize(length < 0 ? 0 : static_cast<std::size_t>(length) - padding);
  return out;
}

class Sha256 {
 public:
  Sha256() { EVP_DigestInit_ex(context_, EVP_sha256(), nullptr); }
  ~Sha256() { EVP_MD_CTX_free(context_); }
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void add(ByteView data) { EVP_DigestUpdate(context_, data.data(), data.size()); }
  std::string hex() {
    unsigned char digest[32];
    EVP_DigestFinal_ex(context_, digest, nullptr);
    std::string out;
    for (const unsigned char byte : digest) out += fmt::format("{:02x}", byte);
    return out;
  }

 private:
  EVP_MD_CTX* context_ = EVP_MD_CTX_new();
};

std::string hash_of(ByteView data) {
  Sha256 hash;
  hash.add(data);
  return hash.hex();
}

const char* type_name(std::uint32_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return "file";
    case S_IFDIR:
      return "dir";
    case S_IFLNK:
      return "symlink";
    case S_IFIFO:
      return "fifo";
    case S_IFSOCK:
      return "socket";
    case S_IFCHR:
      return "char";
    case S_IFBLK:
      return "block";
    default:
      return "unknown";
  }
}

// Compares one file system with its entries in the manifest.
class Comparison {
 public:
  Comparison(std::string name, FileSystem& fs, const Json& entries, std::set<std::string> mounted_below)
      : name_(std::move(name)), fs_(fs), mounted_below_(std::move(mounted_below)) {
    for (const Json& entry : entries) {
      const std::string path = entry.contains("path")
                                   ? entry["path"].get<std::string>()
                                   : decode_base64(entry["path_base64"].get<std::string>());
      // Synthetic folders are the mount's, not the file system's.
      if (path == ".zfs" || path.starts_with(".zfs/")) continue;
      expected_.emplace(path, &entry);
    }
  }

  int run() {
    compare(".", fs_.root());
    for (const auto& [path, entry] : expected_) {
      if (!seen_.contains(path)) differ(path, "is missing");
    }
    return differences_;
  }

 private:
  void differ(const std::string& path, const std::string& what) {
    if (++differences_ <= 40) fmt::print("{}: {}: {}\n", name_, path, what);
  }
  template <typename T>
  void expect(const std::string& path, const Json& entry, const char* key, const T& actual) {
    if (!entry.contains(key)) return;
    const T wanted = entry[key].get<T>();
    if (wanted != actual) differ(path, fmt::format("{} is {} instead of {}", key, actual, wanted));
  }

  void compare(const std::string& path, std::uint64_t object) {
    const auto found = expected_.find(path);
    if (found == expected_.end()) return differ(path, "is there but should not be");
    const Json& entry = *found->second;
    seen_.insert(path);
    if (mounted_below_.contains(
            path)) {  // the manifest shows the root of what is mounted there, and what is in it
      for (const auto& [other, unused] : expected_) {
        if (other.starts_with(path + "/")) seen_.insert(other);
      }
      return;
    }
    const Result<FileAttributes> a = fs_.get_attributes(object);
    if (!a) return differ(path, a.error().text());
    expect<std::string>(path, entry, "type", type_name(a->mode));
    expect<std::string>(path, entry, "mode", fmt::format("{:04o}", a->mode & 07777));
    expect<std::uint64_t>(path, entry, "size", a->size_bytes);
    expect<std::uint64_t>(path, entry, "uid", a->uid);
    expect<std::uint64_t>(path, entry, "gid", a->gid);
    expect<std::uint64_t>(path, entry, "nlink", a->links);
    // OpenZFS shows the number of its automount point for the root of a snapshot.
    if (path != "." || name_.find('@') == name_.npos) expect<std::uint64_t>(path, entry, "ino", a->object);
    expect<std::int64_t>(path, entry, "mtime_ns", a->mtime.seconds * 1'000'000'000 + a->mtime.nanoseconds);
    expect<std::string>(path, entry, "rdev",
                        fmt::format("{}:{}", gnu_dev_major(a->rdev), gnu_dev_minor(a->rdev)));
    compare_xattrs(path, entry, object);
    if (S_ISLNK(a->mode)) {
      const Result<std::string> target = fs_.read_symlink(object);
      if (!target) return differ(path, target.error().text());
      expect<std::string>(path, entry, "target", *target);
    } else if (S_ISREG(a->mode)) {
      compare_content(path, entry, object, a->size_bytes);
    } else if (S_ISDIR(a->mode)) {
      compare_directory(path, object);
    }
  }

  void compare_directory(const std::string& path, std::uint64_t object) {
    std::vector<DirectoryEntry> entries;
    const Status listed = fs_.read_directory(object, 0, [&](const DirectoryEntry& entry) {
      entries.push_back(entry);
      return true;
    });
    if (!listed) return differ(path, listed.error().text());
    for (const DirectoryEntry& entry : entries) {
      if (entry.name == "." || entry.name == "..") continue;
      const std::string child = path == "." ? entry.name : path + "/" + entry.name;
      const Result<FileAttributes> looked_up = fs_.lookup(object, entry.name);
      if (!looked_up) {
        differ(child, looked_up.error().text());
      } else if (looked_up->object != entry.object) {
        differ(child, "lookup and listing do not agree");
      } else if (entry.type != (looked_up->mode & S_IFMT)) {
        differ(child, "type in the listing is wrong");
      }
      compare(child, entry.object);
    }
  }

  void compare_xattrs(const std::string& path, const Json& entry, std::uint64_t object) {
    const Result<std::vector<std::string>> names = fs_.list_xattrs(object);
    if (!names) return differ(path, names.error().text());
    const Json wanted = entry.value("xattrs", Json::object());
    std::set<std::string> actual(names->begin(), names->end());
    for (const auto& [name, facts] : wanted.items()) {
      if (actual.erase(name) == 0) {
        differ(path, fmt::format("lacks xattr {}", name));
        continue;
      }
      const Result<Bytes> value = fs_.get_xattr(object, name);
      if (!value) {
        differ(path, value.error().text());
        continue;
      }
      const bool same = facts.contains("base64")
                            ? as_text(*value) == decode_base64(facts["base64"].get<std::string>())
                            : hash_of(*value) == facts["sha256"].get<std::string>();
      if (!same || value->size() != facts["size"].get<std::size_t>())
        differ(path, fmt::format("xattr {} has another value", name));
    }
    for (const std::string& name : actual) differ(path, fmt::format("has xattr {} but should not", name));
  }

  using Segments = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  Result<Segments> segments_of(std::uint64_t object, std::uint64_t size) {
    Segments out;
    for (std::uint64_t at = 0; at < size;) {
      const Result<std::uint64_t> data = fs_.seek_data(object, at);
      if (!data && data.error().code() == Errc::no_data) break;
      const std::uint64_t begin = TRY(data);
      const std::uint64_t end = TRY(fs_.seek_hole(object, begin));
      if (end <= begin) return Error(Errc::corrupt, "SEEK_HOLE does not advance");
      out.emplace_back(begin, end);
      at = end;
    }
    return out;
  }

  Status hash_range(Sha256& hash, std::uint64_t object, std::uint64_t begin, std::uint64_t end) {
    Bytes buffer(kReadBytes);
    while (begin < end) {
      const std::size_t count = std::min<std::uint64_t>(buffer.size(), end - begin);
      const std::size_t got = TRY(fs_.read(object, begin, std::span(buffer).first(count)));
      if (got == 0) return Error(Errc::corrupt, "file ends early");
      hash.add(std::span(buffer).first(got));
      begin += got;
    }
    return {};
  }

  void compare_content(const std::string& path, const Json& entry, std::uint64_t object, std::uint64_t size) {
    const Result<Segments> segments = segments_of(object, size);
    if (!segments) return differ(path, segments.error().text());
    const Segments wanted = entry.contains("data_segments") ? entry["data_segments"].get<Segments>()
                            : size > 0                      ? Segments{{0, size}}
                                                            : Segments{};
    // The manifest says nothing, too, of a file without any data.
    const bool all_hole = segments->empty() && !entry.contains("data_segments");
    if (*segments != wanted && !all_hole)
      differ(path,
             fmt::format("data segments are {} instead of {}", Json(*segments).dump(), Json(wanted).dump()));
    Sha256 hash;
    Status status;
    if (entry.contains("sha256_of")) {
      for (const auto& [begin, end] : wanted) {
        if (status) status = hash_range(hash, object, begin, end);
      }
    } else {
      status = hash_range(hash, object, 0, size);
    }
    if (entry.contains("error")) {
      if (status) differ(path, "can be read but should be damaged");
      return;
    }
    if (!status) return differ(path, status.error().text());
    if (entry.contains("sha256")) expect<std::string>(path, entry, "sha256", hash.hex());
  }

  const std::string name_;
  FileSystem& fs_;
  const std::set<std::string> mounted_below_;
  std::map<std::string, const Json*> expected_;
  std::set<std::string> seen_;
  int differences_ = 0;
};

// Paths inside a file system at which others of its pool are mounted.
std::set<std::string> mounts_below(const Json& filesystems, const std::string& name) {
  std::set<std::string> out;
  const Json& own = filesystems[name];
  if (!own.contains("mounted_at") || own["mounted_at"].is_null()) return out;
  const std::string prefix = own["mounted_at"].get<std::string>() + "/";
  for (const auto& [other, facts] : filesystems.items()) {
    if (facts["mounted_at"].is_null()) continue;
    const std::string at = facts["mounted_at"].get<std::string>();
    if (at.starts_with(prefix)) out.insert(at.substr(prefix.size()));
  }
  return out;
}

int check_dataset(DatasetTree& tree, const std::string& name, const Json& entries,
                  std::set<std::string> mounted_below, bool encrypted, int& skipped) {
  Result<DatasetRef> dataset = tree.open_dataset(name);
  Result<std::shared_ptr<FileSystem>> fs =
      dataset ? FileSystem::open(*dataset) : Result<std::shared_ptr<FileSystem>>(dataset.error());
  if (!fs) {
    if (encrypted) {
      ++skipped;
      return 0;
    }
    fmt::print("{}: cannot be opened: {}\n", name, fs.error().text());
    return 1;
  }
  return Comparison(name, **fs, entries, std::move(mounted_below)).run();
}

Result<int> run(const std::string& folder, const std::string& manifest_path) {
  const Json manifest = Json::parse(std::ifstream(manifest_path));
  const std::string pool_name = manifest["pool"]["name"];
  std::vector<DiscoveredPool> pools = TRY(discover_pools({.folders = {folder}}));
  DiscoveredPool* found = nullptr;
  for (DiscoveredPool& each : pools) {
    if (std::to_string(each.config.pool_guid) == manifest["pool"]["guid"].get<std::string>()) found = &each;
  }
  if (!found) return Error(Errc::not_found, fmt::format("pool '{}' is not in '{}'", pool_name, folder));
  std::unique_ptr<Pool> pool =
      TRY(Pool::open({.found = std::move(*found), .read_only = true, .force = true}, {}));
  std::unique_ptr<DatasetTree> tree = TRY(DatasetTree::open(*pool, find_owner));

  const Json& expect = manifest["expect"];
  const bool has_keys = manifest.contains("keys") && !manifest["keys"].empty();
  int differences = 0, datasets = 0, skipped = 0;
  for (const char* kind : {"filesystems", "snapshots"}) {
    if (!expect.contains(kind)) continue;
    for (const auto& [name, facts] : expect[kind].items()) {
      if (!facts.contains("entries")) continue;
      ++datasets;
      const bool file_systems = std::string_view(kind) == "filesystems";
      differences += check_dataset(*tree, name, facts["entries"],
                                   file_systems ? mounts_below(expect[kind], name) : std::set<std::string>(),
                                   has_keys, skipped);
    }
  }
  fmt::print("{}: {} datasets, {} skipped, {} differences\n", pool_name, datasets, skipped, differences);
  tree.reset();
  TRY(pool->close(PoolState::exported));
  return differences == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tarn

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: fixture_check FOLDER MANIFEST\n");
    return 2;
  }
  const tarn::Result<int> code = tarn::run(argv[1], argv[2]);
  if (code) return *code;
  fmt::print("{}\n", code.error().text());
  return code.error().code() == tarn::Errc::unsupported ? tarn::kExitSkipped : 1;
}
