#include "cmd/common/table.h"

#include <algorithm>

namespace tarn {

std::size_t display_width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string pad_left(const std::string& text, std::size_t width) {
  const std::size_t have = display_width(text);
  return have >= width ? text : std::string(width - have, ' ') + text;
}

std::string pad_right(const std::string& text, std::size_t width) {
  const std::size_t have = display_width(text);
  return have >= width ? text : text + std::string(width - have, ' ');
}

std::string Table::render(bool scripted) const {
  std::string out;
  if (scripted) {
    for (const auto& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) out += (i ? "\t" : "") + row[i];
      out += '\n';
    }
    return out;
  }
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = std::max(columns_[i].min_width, display_width(columns_[i].heading));
    for (const auto& row : rows_) width = std::max(width, display_width(row[i]));
    widths.push_back(width);
  }
  const auto line = [&](const auto& cell) {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (i) out += "  ";
      const std::string& text = cell(i);
      if (columns_[i].right_aligned) {
        out += pad_left(text, widths[i]);
      } else {
        out += i + 1 == columns_.size() ? text : pad_right(text, widths[i]);
      }
    }
    out += '\n';
  };
  line([&](std::size_t i) -> const std::string& { return columns_[i].heading; });
  for (const auto& row : rows_) line([&](std::size_t i) -> const std::string& { return row[i]; });
  return out;
}

}  // namespace tarn
