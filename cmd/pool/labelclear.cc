// pool labelclear: removes what says that a device belongs to a pool.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cmd/common/command.h"
#include "cmd/pool/commands.h"
#include "cmd/pool/vdev_spec.h"
#include "libpool/label/label.h"

namespace tarn {

int pool_labelclear(const std::vector<std::string>& arguments) {
  const Subcommand& self = pool_command("labelclear");
  const Result<Args> args = parse_args(arguments, "f");
  if (!args) return misuse(self, args.error().text());
  if (args->operands().empty()) return misuse(self, "missing vdev name");
  if (args->operands().size() > 1) return misuse(self, "too many arguments");
  const std::string word = args->operands()[0];
  const bool force = args->has("f");
  const Result<VdevSpec> device = resolve_device(word);
  if (!device) {
    if (word[0] == '/') return fail(fmt::format("failed to open {}: {}", word, std::strerror(ENOENT)));
    return fail(fmt::format("failed to find device {}, try specifying absolute path instead", word));
  }
  const Result<DeviceUse> use = probe_device_use(device->path);
  if (!use) return fail(use.error().text());
  if (use->kind == DeviceUse::Kind::active_pool && !use->force_allowed)
    return fail(fmt::format("{} is a member (ACTIVE) of pool \"{}\"", device->path, use->pool_name));
  if (!force) {
    const char* state = nullptr;
    switch (use->kind) {
      case DeviceUse::Kind::exported_pool:
        state = "exported";
        break;
      case DeviceUse::Kind::active_pool:
      case DeviceUse::Kind::potentially_active_pool:
        state = "potentially active";
        break;
      default:
        break;
    }
    if (state)
      return fail(fmt::format("use '-f' to override the following error:\n{} is a member of {} pool \"{}\"",
                              device->path, state, use->pool_name));
  }
  const std::unique_ptr<IoEngine> engine = make_thread_engine(1);
  Result<std::unique_ptr<Disk>> disk = open_disk(device->path, {}, *engine);
  if (!disk) return fail(fmt::format("failed to open {}: {}", device->path, disk.error().text()));
  const LabelSet labels = read_labels(**disk);
  const bool any = std::any_of(labels.labels.begin(), labels.labels.end(),
                               [](const auto& label) { return label.has_value(); });
  if (!any || !clear_labels(**disk, force)) {
    fail(fmt::format("failed to clear label for {}", device->path));
    return kExitRefused;
  }
  return kExitOk;
}

}  // namespace tarn
