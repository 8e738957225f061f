// A folder of its own for a test, removed with all in it at the end.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace tarn::support {

class TempDir {
 public:
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "tarn-test.XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::string& path() const { return path_; }
  // A sparse file in it.
  std::string file(const std::string& name, std::uint64_t bytes) const {
    const std::string path = path_ + "/" + name;
    if (FILE* out = fopen(path.c_str(), "w")) fclose(out);
    std::filesystem::resize_file(path, bytes);
    return path;
  }

 private:
  std::string path_;
};

}  // namespace tarn::support
