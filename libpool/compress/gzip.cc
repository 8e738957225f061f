#include "libpool/compress/gzip.h"

#include <zlib.h>

namespace tarn {
namespace {

Bytef* raw(std::byte* p) { return reinterpret_cast<Bytef*>(p); }
Bytef* raw(const std::byte* p) {
  return reinterpret_cast<Bytef*>(const_cast<std::byte*>(p));
}  // zlib's input is not const

// One deflate state per thread and level change: setting one up costs more than a small block.
class Deflater {
 public:
  ~Deflater() {
    if (ready_) deflateEnd(&stream_);
  }
  std::optional<std::size_t> run(ByteView data, MutableByteView out, int level) {
    if (ready_ && level_ != level) {
      deflateEnd(&stream_);
      ready_ = false;
    }
    if (ready_ ? deflateReset(&stream_) != Z_OK : deflateInit(&stream_, level) != Z_OK) return std::nullopt;
    ready_ = true;
    level_ = level;
    stream_.next_in = raw(data.data());
    stream_.avail_in = static_cast<uInt>(data.size());
    stream_.next_out = raw(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    if (deflate(&stream_, Z_FINISH) != Z_STREAM_END) return std::nullopt;
    return stream_.total_out;
  }

 private:
  z_stream stream_{};
  bool ready_ = false;
  int level_ = 0;
};

}  // namespace

std::optional<std::size_t> gzip_compress(ByteView data, MutableByteView out, int level) {
  thread_local Deflater deflater;
  return deflater.run(data, out, level);
}

Status gzip_decompress(ByteView stored, MutableByteView out) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) return Error(Errc::io, "gzip: no memory");
  stream.next_in = raw(stored.data());
  stream.avail_in = static_cast<uInt>(stored.size());
  stream.next_out = raw(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int outcome = inflate(&stream, Z_FINISH);
  const bool whole = outcome == Z_STREAM_END && stream.total_out == out.size();
  inflateEnd(&stream);
  if (!whole) return Error(Errc::corrupt, "gzip: damaged data");
  return {};
}

}  // namespace tarn
