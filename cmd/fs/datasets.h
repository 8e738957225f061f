// Datasets as the commands see them: rows that poold answers, across all pools.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cmd/common/client.h"

namespace tarn {

struct DatasetValue {
  std::string property;
  std::string value;   // human form
  std::string raw;     // with -p
  std::string source;  // "-", "default", "local", "inherited", "received", "temporary"
  std::string from;    // inherited: the dataset
  std::string received;
  std::string source_text() const;  // "inherited from X"
};

struct DatasetRow {
  std::string name;
  std::string type;  // filesystem, volume, snapshot, bookmark
  std::uint64_t createtxg = 0;
  std::vector<DatasetValue> values;
  const DatasetValue* find(const std::string& property) const;
};

struct DatasetQuery {
  std::vector<std::string> operands;  // names or mounted folders; empty = all pools
  unsigned depth = 0;                 // UINT_MAX = all
  bool snapshots = false;
  std::vector<std::string> properties;
  bool all_properties = false;
};

std::string pool_of(const std::string& dataset);
// What is wrong with a dataset name, in OpenZFS's words; nothing if it is good.
std::optional<std::string> dataset_name_problem(const std::string& name);

// Rows in listing order. Operands that do not open are complained about on stderr and counted in `failures`.
std::vector<DatasetRow> query_datasets(const Client& client, const DatasetQuery& query, unsigned& failures);
// The pool's process for a dataset; the error text is the tail of "cannot open 'X': ".
Result<PoolHandle> connect_for(const Client& client, const std::string& dataset);
// Text of an error as it follows "cannot VERB 'X': ".
std::string dataset_error_text(const Error& error);
// "filesystem,snap" -> types; the error names the bad word.
Result<std::set<std::string>> parse_types(const std::string& list);

}  // namespace tarn
