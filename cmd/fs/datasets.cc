#include "cmd/fs/datasets.h"

#include <fmt/format.h>

#include <cctype>
#include <filesystem>

#include "cmd/common/command.h"

namespace tarn {
namespace {

DatasetRow row_from_json(const Json& in) {
  DatasetRow row{.name = in.value("name", ""),
                 .type = in.value("type", "filesystem"),
                 .createtxg = in.value("createtxg", std::uint64_t{0}),
                 .values = {}};
  for (const Json& value : in.value("properties", Json::array()))
    row.values.push_back({value.value("name", ""), value.value("value", "-"), value.value("raw", "-"),
                          value.value("source", "-"), value.value("from", ""), value.value("received", "")});
  return row;
}

// The dataset mounted at `folder`, or nothing.
std::optional<std::string> dataset_at(const Client& client, const std::string& folder) {
  std::error_code failure;
  std::string path = std::filesystem::canonical(folder, failure).string();
  if (failure) path = folder;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  for (const std::string& pool : client.pools()) {
    const Result<PoolHandle> handle = client.connect(pool);
    if (!handle) continue;
    const Result<Json> mounts = handle->call("mount.list");
    if (!mounts) continue;
    for (const auto& [dataset, mountpoint] : mounts->value("mounts", Json::object()).items())
      if (mountpoint.is_string() && mountpoint.get<std::string>() == path) return dataset;
  }
  return std::nullopt;
}

}  // namespace

std::string DatasetValue::source_text() const {
  return source == "inherited" ? "inherited from " + from : source;
}

const DatasetValue* DatasetRow::find(const std::string& property) const {
  for (const DatasetValue& value : values)
    if (value.property == property) return &value;
  return nullptr;
}

std::string pool_of(const std::string& dataset) { return dataset.substr(0, dataset.find_first_of("/@#")); }

std::optional<std::string> dataset_name_problem(const std::string& name) {
  if (name.empty()) return "empty component or misplaced '@' or '#' delimiter in name";
  if (name[0] == '/') return "leading slash in name";
  if (name.size() > 255) return "name is too long";
  if (name.back() == '/') return "trailing slash in name";
  const std::size_t mark = name.find_first_of("@#");
  if (mark != std::string::npos && name.find_first_of("@#", mark + 1) != std::string::npos)
    return "multiple '@' and/or '#' delimiters in name";
  std::size_t start = 0;
  for (std::size_t i = 0; i <= name.size(); ++i) {
    const char c = i < name.size() ? name[i] : '/';
    if (c == '/' || c == '@' || c == '#') {
      const std::string component = name.substr(start, i - start);
      if (component.empty()) return "empty component or misplaced '@' or '#' delimiter in name";
      if (component == ".") return "self reference, '.' is found in name";
      if (component == "..") return "parent reference, '..' is found in name";
      if (c == '/' && i < name.size() && mark != std::string::npos && i > mark)
        return "invalid character '/' in name";
      start = i + 1;
      continue;
    }
    if (!std::isalnum(static_cast<unsigned char>(c)) &&
        std::string_view("-_.: ").find(c) == std::string_view::npos)
      return fmt::format("invalid character '{}' in name", c);
  }
  return std::nullopt;
}

Result<PoolHandle> connect_for(const Client& client, const std::string& dataset) {
  if (const auto problem = dataset_name_problem(dataset)) return Error(Errc::invalid_argument, *problem);
  Result<PoolHandle> pool = client.connect(pool_of(dataset));
  if (!pool && pool.error().code() == Errc::not_found)
    return Error(Errc::not_found, "dataset does not exist");
  return pool;
}

std::string dataset_error_text(const Error& error) { return error.text(); }

std::vector<DatasetRow> query_datasets(const Client& client, const DatasetQuery& query, unsigned& failures) {
  std::vector<DatasetRow> rows;
  const auto ask = [&](const std::string& root, const std::string& shown, unsigned depth) {
    const Result<PoolHandle> pool = connect_for(client, root);
    const Result<Json> reply = pool ? pool->call("dataset.query", {{"roots", Json::array({root})},
                                                                   {"depth", depth},
                                                                   {"snapshots", query.snapshots},
                                                                   {"properties", query.properties},
                                                                   {"all", query.all_properties}})
                                    : Result<Json>(pool.error());
    if (!reply) {
      const bool missing = reply.error().code() == Errc::not_found;
      fail(fmt::format("cannot open '{}': {}", shown,
                       missing ? "dataset does not exist" : reply.error().text()));
      ++failures;
      return;
    }
    for (const Json& row : reply->value("datasets", Json::array())) rows.push_back(row_from_json(row));
  };
  if (query.operands.empty()) {
    for (const std::string& pool : live_pools(client)) ask(pool, pool, query.depth);
    return rows;
  }
  for (const std::string& operand : query.operands) {
    if (operand[0] != '/' && !operand.starts_with("./")) {
      ask(operand, operand, query.depth);
    } else if (!std::filesystem::exists(operand)) {
      fail(fmt::format("cannot open '{}': No such file or directory", operand));
      ++failures;
    } else if (const auto dataset = dataset_at(client, operand)) {
      ask(*dataset, operand, query.depth);
    } else {
      fail(fmt::format("'{}': not a ZFS filesystem", operand));
      ++failures;
    }
  }
  return rows;
}

Result<std::set<std::string>> parse_types(const std::string& list) {
  std::set<std::string> types;
  for (const std::string& word : split(list, ',')) {
    if (word == "filesystem" || word == "fs")
      types.insert("filesystem");
    else if (word == "volume" || word == "vol")
      types.insert("volume");
    else if (word == "snapshot" || word == "snap")
      types.insert("snapshot");
    else if (word == "bookmark")
      types.insert("bookmark");
    else if (word == "all")
      types.insert({"filesystem", "volume", "snapshot", "bookmark"});
    else
      return Error(Errc::usage, fmt::format("invalid type '{}'", word));
  }
  return types;
}

}  // namespace tarn
