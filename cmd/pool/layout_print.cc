#include "cmd/pool/layout_print.h"

#include <fmt/format.h>

namespace tarn {
namespace {

std::string spec_name(const VdevSpec& spec) {
  if (spec.leaf()) return spec.path;
  return spec.type == "raidz" ? fmt::format("raidz{}", spec.nparity) : spec.type;
}

void add_spec(std::string& out, const VdevSpec& spec, unsigned indent) {
  out += fmt::format("\t{:{}}{}\n", "", indent, spec_name(spec));
  for (const VdevSpec& child : spec.children) add_spec(out, child, indent + 2);
}

void add_json(std::string& out, const Json& vdev, unsigned indent) {
  out += fmt::format("\t{:{}}{}\n", "", indent, vdev.value("name", ""));
  for (const Json& child : vdev.value("children", Json::array())) add_json(out, child, indent + 2);
}

}  // namespace

std::string print_layout(const std::string& pool, const LayoutSpec& layout, const Json& existing) {
  std::string out = fmt::format("\t{}\n", pool);
  for (const Json& top : existing)
    if (top.value("class", "normal") == "normal") add_json(out, top, 2);
  for (const VdevSpec& top : layout.tops)
    if (top.vdev_class.empty()) add_spec(out, top, 2);
  std::string logs;
  for (const Json& top : existing)
    if (top.value("class", "") == "logs") add_json(logs, top, 2);
  for (const VdevSpec& top : layout.tops)
    if (top.vdev_class == "log") add_spec(logs, top, 2);
  if (!logs.empty()) out += "\tlogs\n" + logs;
  if (!layout.caches.empty()) out += "\tcache\n";
  for (const VdevSpec& leaf : layout.caches) add_spec(out, leaf, 2);
  if (!layout.spares.empty()) out += "\tspares\n";
  for (const VdevSpec& leaf : layout.spares) add_spec(out, leaf, 2);
  return out;
}

}  // namespace tarn
