#include "libpool/base/result.h"

#include <cerrno>
#include <cstring>

namespace tarn {

int to_errno(Errc code) {
  switch (code) {
    case Errc::invalid_argument: return EINVAL;
    case Errc::not_found: return ENOENT;
    case Errc::already_exists: return EEXIST;
    case Errc::busy: return EBUSY;
    case Errc::permission: return EACCES;
    case Errc::not_permitted: return EPERM;
    case Errc::no_space: return ENOSPC;
    case Errc::quota: return EDQUOT;
    case Errc::read_only: return EROFS;
    case Errc::io: return EIO;
    case Errc::checksum: return EIO;
    case Errc::corrupt: return EIO;
    case Errc::unsupported: return EOPNOTSUPP;
    case Errc::not_a_directory: return ENOTDIR;
    case Errc::is_a_directory: return EISDIR;
    case Errc::not_empty: return ENOTEMPTY;
    case Errc::name_too_long: return ENAMETOOLONG;
    case Errc::too_many_links: return EMLINK;
    case Errc::too_large: return EFBIG;
    case Errc::no_data: return ENODATA;
    case Errc::out_of_range: return ERANGE;
    case Errc::cross_device: return EXDEV;
    case Errc::would_block: return EAGAIN;
    case Errc::suspended: return EIO;
    case Errc::cancelled: return ECANCELED;
    case Errc::in_use_elsewhere: return EBUSY;
    case Errc::usage: return EINVAL;
  }
  return EIO;
}

Errc from_errno(int error_number) {
  switch (error_number) {
    case EINVAL: return Errc::invalid_argument;
    case ENOENT: case ENXIO: case ENODEV: return Errc::not_found;
    case EEXIST: return Errc::already_exists;
    case EBUSY: return Errc::busy;
    case EACCES: return Errc::permission;
    case EPERM: return Errc::not_permitted;
    case ENOSPC: return Errc::no_space;
    case EROFS: return Errc::read_only;
    case EOPNOTSUPP: return Errc::unsupported;
    case ENOTDIR: return Errc::not_a_directory;
    case EISDIR: return Errc::is_a_directory;
    case EAGAIN: return Errc::would_block;
    default: return Errc::io;
  }
}

Error Error::system(int error_number, const std::string& what) {
  return Error(from_errno(error_number), what + ": " + std::strerror(error_number));
}

}  // namespace tarn
