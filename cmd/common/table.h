// Tables as OpenZFS prints them: columns padded to the widest value with two blanks between, the last one not
// padded when it is left-aligned; with `scripted` (-H) one TAB between values and no heading.
#pragma once

#include <string>
#include <vector>

namespace tarn {

struct Column {
  std::string heading;
  bool right_aligned = false;
  std::size_t min_width = 0;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }
  std::string render(bool scripted) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Columns a terminal shows for UTF-8 `text`: code points; bytes that are no UTF-8 count one each.
std::size_t display_width(const std::string& text);
std::string pad_left(const std::string& text, std::size_t width);   // right-aligned
std::string pad_right(const std::string& text, std::size_t width);  // left-aligned

}  // namespace tarn
