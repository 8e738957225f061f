// The trailing `[interval [count]]` of list, status and iostat, and -T u|d.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/common/options.h"
#include "libpool/base/result.h"

namespace tarn {

class Interval {
 public:
  // Takes numbers off the end of the operands.
  static Result<Interval> take(const Args& args);
  std::vector<std::string> operands;  // what is left: names

  // With -T: the time of this sample.
  void print_time() const;
  // Sleeps until the next sample; false when there is none.
  bool wait();

 private:
  double seconds_ = 0;
  std::uint64_t samples_left_ = 1;  // 0 = without end
  char time_format_ = 0;
};

}  // namespace tarn
