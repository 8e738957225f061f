#include "cmd/fs/property_help.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "libdataset/property/property.h"

namespace tarn {

std::string dataset_property_help() {
  std::string out =
      "\nThe following properties are supported:\n\n\tPROPERTY              EDIT  INHERIT   VALUES\n\n";
  std::vector<const PropertyInfo*> infos;
  for (const PropertyInfo& info : all_properties())
    if (info.id != Property::name) infos.push_back(&info);
  const auto rank = [](const PropertyInfo* info) { return info->attr == PropertyAttr::read_only ? 0 : 1; };
  std::sort(infos.begin(), infos.end(), [&](const auto* a, const auto* b) {
    return rank(a) != rank(b) ? rank(a) < rank(b) : std::string_view(a->name) < std::string_view(b->name);
  });
  for (const PropertyInfo* info : infos) {
    const bool edit = info->attr != PropertyAttr::read_only;
    const bool inherit = info->attr == PropertyAttr::inherited || info->attr == PropertyAttr::once_inherited;
    out += fmt::format("\t{:<20}   {:>4}   {:>6}   {}\n", info->name, edit ? "YES" : "NO",
                       inherit ? "YES" : "NO", info->values_help ? info->values_help : "-");
  }
  out +=
      "\nSizes are specified in bytes with standard units such as K, M, G, etc.\n\nUser-defined properties "
      "can be specified by using a name containing a colon (:).\n";
  return out;
}

}  // namespace tarn
