#include "libpool/vdev/disk.h"

#include "libpool/vdev/file_disk.h"

namespace tarn {

void Disk::read_async(std::uint64_t offset_bytes, MutableByteView out, std::function<void(Status)> done) {
  done(read(offset_bytes, out));
}

void Disk::write_async(std::uint64_t offset_bytes, std::vector<ByteView> parts,
                       std::function<void(Status)> done) {
  for (const ByteView part : parts) {
    if (Status written = write(offset_bytes, part); !written) return done(std::move(written));
    offset_bytes += part.size();
  }
  done({});
}

void Disk::flush_async(std::function<void(Status)> done) { done(flush()); }

void read_all(std::span<DiskRead> reads) {
  // Real devices go to their engine together; anything else is read in place.
  std::vector<FileDisk*> disks;
  IoEngine* engine = nullptr;
  disks.reserve(reads.size());
  std::size_t real_count = 0;
  for (const DiskRead& read : reads) {
    disks.push_back(dynamic_cast<FileDisk*>(read.disk));
    if (!disks.back()) continue;
    ++real_count;
    engine = &disks.back()->engine();
  }
  std::vector<FileDisk::PreparedRead> prepared;
  if (real_count > 1) {
    prepared.resize(reads.size());
    std::vector<IoRequest> requests;
    requests.reserve(real_count);
    for (std::size_t i = 0; i < reads.size(); ++i) {
      if (disks[i])
        requests.push_back(disks[i]->prepare_read(reads[i].offset_bytes, reads[i].parts, prepared[i]));
    }
    engine->run(requests);
    std::size_t next = 0;
    for (std::size_t i = 0; i < reads.size(); ++i) {
      if (disks[i])
        reads[i].result =
            disks[i]->finish_read(reads[i].offset_bytes, reads[i].parts, prepared[i], requests[next++].error);
    }
  }
  for (std::size_t i = 0; i < reads.size(); ++i) {
    if (disks[i] && real_count > 1) continue;
    std::uint64_t offset_bytes = reads[i].offset_bytes;
    reads[i].result = {};
    for (const MutableByteView part : reads[i].parts) {
      reads[i].result = reads[i].disk->read(offset_bytes, part);
      if (!reads[i].result) break;
      offset_bytes += part.size();
    }
  }
}

}  // namespace tarn
