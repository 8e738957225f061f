// Which names a pool may have (FORMAT.md logical 3.1), with the words OpenZFS uses for what is wrong.
#pragma once

#include <optional>
#include <string>

namespace tarn {

// What is wrong with `name`; nothing if it is good. `new_pool`: reserved words are refused too.
std::optional<std::string> pool_name_problem(const std::string& name, bool new_pool);

}  // namespace tarn
