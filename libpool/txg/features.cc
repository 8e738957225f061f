#include "libpool/txg/features.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

namespace tarn {
namespace {

constexpr std::string_view kExtensible = "com.delphix:extensible_dataset";
constexpr std::array<std::string_view, 1> kOnEnabledTxg{"com.delphix:enabled_txg"};
constexpr std::array<std::string_view, 1> kOnExtensible{kExtensible};
constexpr std::array<std::string_view, 1> kOnSpacemapV2{"com.delphix:spacemap_v2"};
constexpr std::array<std::string_view, 2> kOnDeviceRemoval{kExtensible, "com.delphix:device_removal"};
constexpr std::array<std::string_view, 2> kOnBookmarks{kExtensible, "com.delphix:bookmarks"};
constexpr std::array<std::string_view, 2> kOnBookmarkV2{kExtensible, "com.datto:bookmark_v2"};
constexpr std::array<std::string_view, 3> kOnAllBookmarks{"com.datto:bookmark_v2", kExtensible,
                                                          "com.delphix:bookmarks"};
constexpr std::array<std::string_view, 1> kOnRedactionBookmarks{"com.delphix:redaction_bookmarks"};
constexpr std::array<std::string_view, 1> kOnDraid{"org.openzfs:draid"};
constexpr std::array<std::string_view, 2> kOnLargeBlocks{kExtensible, "org.open-zfs:large_blocks"};
constexpr std::array<std::string_view, 1> kOnBlockCloning{"com.fudosecurity:block_cloning"};

using enum FeatureSupport;

// `read` for a read-only compatible feature means: every block can be read, but frees must keep a structure
// that Tarn does not maintain (dedup and clone tables, checkpoint and livelist rules).
constexpr FeatureInfo kFeatures[] = {
    {.name = "async_destroy",
     .guid = "com.delphix:async_destroy",
     .description = "Destroys file systems in the background.",
     .read_only_compatible = true},
    {.name = "empty_bpobj",
     .guid = "com.delphix:empty_bpobj",
     .description = "Snapshots share one empty block list.",
     .read_only_compatible = true},
    {.name = "lz4_compress",
     .guid = "org.illumos:lz4_compress",
     .description = "LZ4 compression.",
     .active_when_enabled = true},
    {.name = "multi_vdev_crash_dump",
     .guid = "com.joyent:multi_vdev_crash_dump",
     .description = "Crash dumps to pools of several vdevs."},
    {.name = "spacemap_histogram",
     .guid = "com.delphix:spacemap_histogram",
     .description = "Space maps hold histograms of free space.",
     .read_only_compatible = true},
    {.name = "enabled_txg",
     .guid = "com.delphix:enabled_txg",
     .description = "Records the txg in which a feature was enabled.",
     .read_only_compatible = true},
    {.name = "hole_birth",
     .guid = "com.delphix:hole_birth",
     .description = "Holes record their birth txg, for exact incremental sends.",
     .in_labels = true,
     .active_when_enabled = true,
     .depends_on = kOnEnabledTxg},
    {.name = "extensible_dataset",
     .guid = kExtensible,
     .description = "Datasets with further attributes, used by other features."},
    {.name = "embedded_data",
     .guid = "com.delphix:embedded_data",
     .description = "Blocks that compress very well live in their block pointer.",
     .in_labels = true,
     .active_when_enabled = true},
    {.name = "bookmarks",
     .guid = "com.delphix:bookmarks",
     .description = "Bookmarks of snapshots.",
     .read_only_compatible = true,
     .depends_on = kOnExtensible},
    {.name = "filesystem_limits",
     .guid = "com.joyent:filesystem_limits",
     .description = "Limits on the number of file systems and snapshots.",
     .read_only_compatible = true,
     .depends_on = kOnExtensible},
    {.name = "large_blocks",
     .guid = "org.open-zfs:large_blocks",
     .description = "Blocks larger than 128 KiB.",
     .per_dataset = true,
     .depends_on = kOnExtensible},
    {.name = "large_dnode",
     .guid = "org.zfsonlinux:large_dnode",
     .description = "Dnodes of variable size.",
     .per_dataset = true,
     .depends_on = kOnExtensible},
    {.name = "sha512",
     .guid = "org.illumos:sha512",
     .description = "SHA-512/256 checksums.",
     .per_dataset = true,
     .depends_on = kOnExtensible},
    {.name = "skein",
     .guid = "org.illumos:skein",
     .description = "Skein checksums.",
     .per_dataset = true,
     .depends_on = kOnExtensible},
    {.name = "edonr",
     .guid = "org.illumos:edonr",
     .description = "Edon-R checksums.",
     .per_dataset = true,
     .depends_on = kOnExtensible},
    {.name = "userobj_accounting",
     .guid = "org.zfsonlinux:userobj_accounting",
     .description = "Counts objects per user and group.",
     .read_only_compatible = true,
     .per_dataset = true,
     .depends_on = kOnExtensible},
    {.name = "encryption",
     .guid = "com.datto:encryption",
     .description = "Encryption of datasets.",
     .per_dataset = true,
     .depends_on = kOnBookmarkV2},
    {.name = "project_quota",
     .guid = "org.zfsonlinux:project_quota",
     .description = "Counts space and objects per project.",
     .read_only_compatible = true,
     .per_dataset = true,
     .depends_on = kOnExtensible},
    {.name = "device_removal",
     .guid = "com.delphix:device_removal",
     .description = "Top-level vdevs can be removed.",
     .in_labels = true,
     .support = none},
    {.name = "obsolete_counts",
     .guid = "com.delphix:obsolete_counts",
     .description = "Less memory for removed vdevs whose blocks are gone.",
     .read_only_compatible = true,
     .support = read,
     .depends_on = kOnDeviceRemoval},
    {.name = "zpool_checkpoint",
     .guid = "com.delphix:zpool_checkpoint",
     .description = "The state of the pool can be checkpointed and rewound to.",
     .read_only_compatible = true,
     .support = read},
    {.name = "spacemap_v2",
     .guid = "com.delphix:spacemap_v2",
     .description = "Compact space map entries for large segments.",
     .read_only_compatible = true,
     .active_when_enabled = true},
    {.name = "allocation_classes",
     .guid = "org.zfsonlinux:allocation_classes",
     .description = "Separate vdevs for classes of blocks.",
     .read_only_compatible = true},
    {.name = "resilver_defer",
     .guid = "com.datto:resilver_defer",
     .description = "A new resilver waits for the one that runs.",
     .read_only_compatible = true},
    {.name = "bookmark_v2",
     .guid = "com.datto:bookmark_v2",
     .description = "Larger bookmarks.",
     .depends_on = kOnBookmarks},
    {.name = "redaction_bookmarks",
     .guid = "com.delphix:redaction_bookmarks",
     .description = "Bookmarks with lists for redacted sends.",
     .depends_on = kOnAllBookmarks},
    {.name = "redacted_datasets",
     .guid = "com.delphix:redacted_datasets",
     .description = "Datasets received from a redacted stream.",
     .per_dataset = true,
     .depends_on = kOnExtensible},
    {.name = "bookmark_written",
     .guid = "com.delphix:bookmark_written",
     .description = "Space written since a bookmark.",
     .depends_on = kOnAllBookmarks},
    {.name = "log_spacemap",
     .guid = "com.delphix:log_spacemap",
     .description = "Allocations of a txg are logged in one space map.",
     .read_only_compatible = true,
     .depends_on = kOnSpacemapV2},
    {.name = "livelist",
     .guid = "com.delphix:livelist",
     .description = "Faster deletion of clones.",
     .read_only_compatible = true,
     .support = read,
     .depends_on = kOnExtensible},
    {.name = "device_rebuild",
     .guid = "org.openzfs:device_rebuild",
     .description = "Sequential rebuild of mirrors and dRAID.",
     .read_only_compatible = true},
    {.name = "zstd_compress",
     .guid = "org.freebsd:zstd_compress",
     .description = "Zstandard compression.",
     .per_dataset = true,
     .depends_on = kOnExtensible},
    {.name = "draid",
     .guid = "org.openzfs:draid",
     .description = "RAID with distributed spares.",
     .in_labels = true,
     .support = none},
    {.name = "zilsaxattr",
     .guid = "org.openzfs:zilsaxattr",
     .description = "Extended attributes stored as system attributes are logged.",
     .read_only_compatible = true,
     .per_dataset = true,
     .depends_on = kOnExtensible},
    {.name = "head_errlog",
     .guid = "com.delphix:head_errlog",
     .description = "Error logs per dataset.",
     .active_when_enabled = true},
    {.name = "blake3",
     .guid = "org.openzfs:blake3",
     .description = "BLAKE3 checksums.",
     .per_dataset = true,
     .depends_on = kOnExtensible},
    {.name = "block_cloning",
     .guid = "com.fudosecurity:block_cloning",
     .description = "Blocks shared between files.",
     .read_only_compatible = true,
     .support = read},
    {.name = "vdev_zaps_v2",
     .guid = "com.klarasystems:vdev_zaps_v2",
     .description = "The root vdev has a ZAP.",
     .in_labels = true},
    {.name = "redaction_list_spill",
     .guid = "com.delphix:redaction_list_spill",
     .description = "More snapshots in one redaction.",
     .depends_on = kOnRedactionBookmarks},
    {.name = "raidz_expansion",
     .guid = "org.openzfs:raidz_expansion",
     .description = "Devices can be added to a raidz vdev.",
     .in_labels = true},
    {.name = "fast_dedup",
     .guid = "com.klarasystems:fast_dedup",
     .description = "Deduplication with a log.",
     .read_only_compatible = true,
     .support = read},
    {.name = "longname",
     .guid = "org.zfsonlinux:longname",
     .description = "File names of up to 1023 bytes.",
     .per_dataset = true,
     .depends_on = kOnExtensible},
    {.name = "large_microzap",
     .guid = "com.klarasystems:large_microzap",
     .description = "Micro ZAPs larger than 128 KiB.",
     .read_only_compatible = true,
     .per_dataset = true,
     .depends_on = kOnLargeBlocks},
    // Newer than OpenZFS 2.3: never enabled here.
    {.name = "draid_failure_domains",
     .guid = "com.seagate:draid_failure_domains",
     .description = "dRAID that survives the loss of an enclosure.",
     .in_labels = true,
     .on_new_pools = false,
     .support = none,
     .depends_on = kOnDraid},
    {.name = "block_cloning_endian",
     .guid = "com.truenas:block_cloning_endian",
     .description = "Block reference table independent of byte order.",
     .read_only_compatible = true,
     .on_new_pools = false,
     .support = read,
     .depends_on = kOnBlockCloning},
    {.name = "dynamic_gang_header",
     .guid = "com.klarasystems:dynamic_gang_header",
     .description = "Gang headers of variable size.",
     .in_labels = true,
     .on_new_pools = false,
     .support = none},
    {.name = "physical_rewrite",
     .guid = "com.truenas:physical_rewrite",
     .description = "Blocks rewritten in place keep their logical birth.",
     .read_only_compatible = true,
     .per_dataset = true,
     .on_new_pools = false,
     .depends_on = kOnExtensible},
};

constexpr std::size_t kMaxCompatibilityFileBytes = 16 << 10;

// The names listed in one file: separated by blanks, commas or line ends, `#` starts a comment.
Result<std::set<std::string>> read_list(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Error(Errc::not_found, fmt::format("cannot read compatibility file '{}'", path));
  std::string text(kMaxCompatibilityFileBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.empty() || text.size() > kMaxCompatibilityFileBytes || text.back() != '\n')
    return Error(
        Errc::invalid_argument,
        fmt::format("compatibility file '{}' must be 1 byte to 16 KiB long and end with a newline", path));
  std::set<std::string> names;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    line.resize(std::min(line.find('#'), line.size()));
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream words(line);
    for (std::string word; words >> word;) names.insert(word);
  }
  return names;
}

}  // namespace

std::span<const FeatureInfo> all_features() { return kFeatures; }

const FeatureInfo* find_feature_by_name(std::string_view name) {
  const auto* found = std::ranges::find(kFeatures, name, &FeatureInfo::name);
  return found == std::end(kFeatures) ? nullptr : found;
}

const FeatureInfo* find_feature_by_guid(std::string_view guid) {
  const auto* found = std::ranges::find(kFeatures, guid, &FeatureInfo::guid);
  return found == std::end(kFeatures) ? nullptr : found;
}

const std::vector<std::string>& compatibility_folders() {
  static const std::vector<std::string> folders{"/etc/zfs/compatibility.d", "/usr/share/zfs/compatibility.d"};
  return folders;
}

Result<CompatibilitySet> read_compatibility(std::string_view value, const std::vector<std::string>& folders) {
  CompatibilitySet set;
  if (value == "legacy") return set;
  for (const FeatureInfo& feature : kFeatures)
    if (feature.on_new_pools) set.names.emplace(feature.name);
  if (value.empty() || value == "off") return set;

  std::string rest(value);
  std::replace(rest.begin(), rest.end(), ',', ' ');
  std::istringstream files(rest);
  bool any = false;
  for (std::string file; files >> file;) {
    any = true;
    std::string path = file;
    bool from_distribution = false;
    if (file.front() != '/') {
      if (file.find('/') != std::string::npos)
        return Error(Errc::invalid_argument,
                     fmt::format("compatibility file '{}' is neither a name nor a full path", file));
      path.clear();
      for (std::size_t i = 0; i < folders.size() && path.empty(); ++i) {
        const std::string candidate = folders[i] + "/" + file;
        if (std::ifstream(candidate)) {
          path = candidate;
          from_distribution = i + 1 == folders.size();
        }
      }
      if (path.empty())
        return Error(Errc::not_found,
                     fmt::format("no compatibility file '{}' in {}", file, fmt::join(folders, " or ")));
    }
    const std::set<std::string> listed = TRY(read_list(path));
    for (const std::string& name : listed) {
      if (find_feature_by_name(name)) continue;
      const std::string problem = fmt::format("compatibility file '{}': unknown feature '{}'", path, name);
      if (!from_distribution) return Error(Errc::invalid_argument, problem);
      set.warnings.push_back(problem);
    }
    std::erase_if(set.names, [&](const std::string& name) { return !listed.contains(name); });
  }
  if (!any) return Error(Errc::invalid_argument, "compatibility: no file named");
  return set;
}

}  // namespace tarn
